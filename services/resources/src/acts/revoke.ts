import { type AppError, InsufficientRole, invalidField, NotFound } from '@commonplace/kit/errors';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { GranteeType } from '@commonplace/proto/resources/v1/permission.js';
import type { DeletePermissionRequest } from '@commonplace/proto/resources/v1/permission_service.js';
import { isAtLeast, reachOfGrants } from '../domain/access.js';
import { principalNamed, splitPrincipal } from '../domain/principals.js';
import { AmbiguousTarget, InheritedPermission, MissingTarget } from '../errors.js';
import type { Parts } from '../parts.js';
import { requireCapability, type Seen, type Standing } from '../policy.js';
import { type Grant, grantId, isExpired } from '../stores/grants.js';
import type { Node } from '../stores/nodes.js';
import { isMemberLine, roleBelow } from '../views/member-lines.js';
import { removeGrant } from './grants.js';

/** What a request names: a permission by its id, or by whom it is for. */
interface Target {
  readonly id: string;
  readonly principal: string | undefined;
}

/** Takes a direct grant back; gives its id. Throws `inherited_permission` for what comes from elsewhere. */
export async function revoke(
  parts: Parts,
  seen: Seen,
  request: DeletePermissionRequest,
  standing: Standing,
  context: CallContext,
): Promise<string> {
  const { node, access } = seen;
  const target = targetOf(node, request);
  const found = await context.work.get(parts.grants, target.id);
  const grant = found?.resourceId === node.id ? found : undefined;
  const isOwn = (grant?.principal ?? target.principal) === `user:${context.caller.userId}`;
  if (!isOwn) requireCapability(seen, 'manage');
  if (grant === undefined || isExpired(grant, standing.now)) throw await absent(parts, node, target, standing, context);
  if (!isOwn && !isAtLeast(access.role, grant.role)) {
    throw InsufficientRole({ role: access.role, needed: grant.role });
  }
  requireVersion(context, grant.version, { updatedBy: grant.grantedBy, updatedAt: grant.createdAt });
  await removeGrant(parts, node, grant, context);
  return grant.id;
}

function targetOf(node: Node, { permissionId, principalType, principalId }: DeletePermissionRequest): Target {
  const principal = principalOf(node, principalType, principalId);
  if (principal === undefined) {
    if (permissionId === undefined) throw MissingTarget();
    return { id: permissionId, principal: undefined };
  }
  const id = grantId(node.id, principal);
  if (permissionId !== undefined && permissionId !== id) throw AmbiguousTarget();
  return { id, principal };
}

/** Whom type and id name: a person where there is no type, the node's own Org where there is no id. */
function principalOf(node: Node, type: GranteeType, id: string | undefined): string | undefined {
  if (type === GranteeType.LINK) return 'link:';
  if (type === GranteeType.ORG) return `org:${id ?? node.orgId ?? ''}`;
  if (id !== undefined) return principalNamed(type === GranteeType.UNSPECIFIED ? GranteeType.USER : type, id);
  if (type === GranteeType.UNSPECIFIED) return undefined;
  throw invalidField('principal_id', 'missing_field', 'is required.');
}

/** Why there is nothing to take back here: it comes from further up, or it is not there at all. */
async function absent(
  parts: Parts,
  node: Node,
  target: Target,
  standing: Standing,
  context: CallContext,
): Promise<AppError> {
  const source = await inheritedFrom(parts, node, target, standing);
  if (source !== undefined) return InheritedPermission({ source_resource_id: source.resourceId });
  const fromWorkspace =
    target.principal === undefined
      ? await isMemberLine(parts, node, target.id, context)
      : await isMember(parts, node, target.principal, context);
  if (!fromWorkspace) return NotFound();
  return InheritedPermission({ source_resource_id: null, source_workspace_id: node.workspaceId });
}

async function inheritedFrom(
  parts: Parts,
  node: Node,
  { id, principal }: Target,
  { now }: Standing,
): Promise<Grant | undefined> {
  const above = reachOfGrants(node).filter((one) => one !== node.id);
  if (above.length === 0) return undefined;
  const ids = principal === undefined ? [id] : above.map((one) => grantId(one, principal));
  const found = await parts.grants.getMany(ids);
  return found.reverse().find((grant) => above.includes(grant.resourceId) && !isExpired(grant, now));
}

async function isMember({ peers }: Parts, node: Node, principal: string, context: CallContext): Promise<boolean> {
  const { kind, id: userId } = splitPrincipal(principal);
  if (kind !== 'user') return false;
  const { workspaces } = await peers.directory.getMemberships({ userId }, context.onward);
  const mine = workspaces.find(({ workspaceId }) => workspaceId === node.workspaceId);
  return mine !== undefined && roleBelow(node, mine.role) !== undefined;
}
