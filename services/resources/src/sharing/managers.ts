import type { CallContext } from '@commonplace/kit/rpc';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { reachOfGrants } from '../domain/access.js';
import { grantAt } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { splitPrincipal } from '../domain/principals.js';
import { may } from '../domain/role.js';
import type { SharingParts } from './parts.js';

/** Maximum number of people who are notified of one request. */
const MAX_NOTIFIED = 200;

/** Returns the people who manage a node: by their own grants, and as owners and administrators of the workspace. */
export async function managersOf(
  parts: SharingParts,
  node: Node,
  now: string,
  context: CallContext,
): Promise<string[]> {
  const grants = await parts.grants.find({
    where: { resourceId: { in: reachOfGrants(node) }, role: { in: ['manager', 'owner'] } },
    limit: MAX_NOTIFIED,
  });
  const people = new Set<string>();
  for (const stored of grants) {
    const grant = grantAt(stored, now);
    if (grant === undefined) continue;
    const { kind, id } = splitPrincipal(grant.principal);
    if (kind === 'user' && may(grant.role, 'manage')) people.add(id);
  }
  const page = { limit: MAX_NOTIFIED, offset: 0, cursor: '' };
  for (const role of [WorkspaceRole.OWNER, WorkspaceRole.ADMIN]) {
    const request = { workspaceId: node.workspaceId, role, page };
    const { items } = await parts.peers.directory.listPeople(request, context.onward);
    for (const { principal } of items) if (principal?.id !== undefined) people.add(principal.id);
  }
  return [...people].slice(0, MAX_NOTIFIED);
}
