import type { CallContext } from '@commonplace/kit/rpc';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { may, reachOfGrants } from '../domain/access.js';
import { splitPrincipal } from '../domain/principals.js';
import type { Parts } from '../parts.js';
import { isExpired } from '../stores/grants.js';
import type { Node } from '../stores/nodes.js';

/** People who are told of one request. */
const MOST_TOLD = 200;

/** The people who manage a node, by grants of their own and as the workspace's owners and administrators. */
export async function managersOf(parts: Parts, node: Node, now: string, context: CallContext): Promise<string[]> {
  const grants = await parts.grants.find({
    where: { resourceId: { in: reachOfGrants(node) }, role: { in: ['manager', 'owner'] } },
    limit: MOST_TOLD,
  });
  const people = new Set<string>();
  for (const grant of grants) {
    const { kind, id } = splitPrincipal(grant.principal);
    if (kind === 'user' && !isExpired(grant, now) && may(grant.role, 'manage')) people.add(id);
  }
  const page = { limit: MOST_TOLD, offset: 0, cursor: '' };
  for (const role of [WorkspaceRole.OWNER, WorkspaceRole.ADMIN]) {
    const request = { workspaceId: node.workspaceId, role, page };
    const { items } = await parts.peers.directory.listPeople(request, context.onward);
    for (const { principal } of items) if (principal?.id !== undefined) people.add(principal.id);
  }
  return [...people].slice(0, MOST_TOLD);
}
