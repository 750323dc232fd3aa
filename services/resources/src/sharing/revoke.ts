import { type AppError, InsufficientRole, invalidField, NotFound } from '@commonplace/kit/errors';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { GranteeType } from '@commonplace/proto/resources/v1/permission.js';
import type { DeletePermissionRequest } from '@commonplace/proto/resources/v1/permission_service.js';
import { reachOfGrants } from '../domain/access.js';
import { type Grant, grantAt, grantId, isExpired } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { principalNamed, splitPrincipal } from '../domain/principals.js';
import { isAtLeast } from '../domain/role.js';
import { AmbiguousTarget, InheritedPermission, MissingTarget } from '../errors.js';
import { type AccessSubject, requireCapability, type Seen } from '../policy.js';
import { removeGrant } from './grants.js';
import { isMemberLine, roleBelow } from './member-lines.js';
import type { SharingParts } from './parts.js';

/** The grant that a request names: by its id, or by its principal. */
interface Target {
  readonly id: string;
  readonly principal: string | undefined;
}

/** Revokes a direct grant and returns its id. Throws `inherited_permission` for access that comes from elsewhere. */
export async function revoke(
  parts: SharingParts,
  seen: Seen,
  request: DeletePermissionRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<string> {
  const { node, access } = seen;
  const target = targetOf(node, request);
  const found = await context.work.get(parts.grants, target.id);
  const grant = found?.resourceId === node.id ? grantAt(found, subject.now) : undefined;
  const isOwn = (grant?.principal ?? target.principal) === `user:${context.caller.userId}`;
  if (!isOwn) requireCapability(seen, 'manage');
  if (found === undefined || grant === undefined) throw await absent(parts, node, target, subject, context);
  if (!isOwn && !isAtLeast(access.role, grant.role)) {
    throw InsufficientRole({ role: access.role, needed: grant.role });
  }
  requireVersion(context, grant.version, { updatedBy: grant.grantedBy, updatedAt: grant.createdAt });
  await removeGrant(parts, node, found, context);
  return grant.id;
}

function targetOf(node: Node, { permissionId, principalType, principalId }: DeletePermissionRequest): Target {
  const principal = principalOf(node, principalType, principalId);
  if (principal === undefined) {
    if (permissionId === undefined) throw MissingTarget({}, { param: 'permission_id' });
    return { id: permissionId, principal: undefined };
  }
  const id = grantId(node.id, principal);
  if (permissionId !== undefined && permissionId !== id) throw AmbiguousTarget({}, { param: 'permission_id' });
  return { id, principal };
}

/** Returns the principal that type and id name: a user without a type, the node's own Org without an id. */
function principalOf(node: Node, type: GranteeType, id: string | undefined): string | undefined {
  if (type === GranteeType.LINK) return 'link:';
  if (type === GranteeType.ORG) return `org:${id ?? node.orgId ?? ''}`;
  if (id !== undefined) return principalNamed(type === GranteeType.UNSPECIFIED ? GranteeType.USER : type, id);
  if (type === GranteeType.UNSPECIFIED) return undefined;
  throw invalidField('principal_id', 'missing_field', 'is required.');
}

/**
 * Returns the error for a grant that is not on the node: InheritedPermission if it comes from an ancestor or the
 * workspace, else NotFound.
 */
async function absent(
  parts: SharingParts,
  node: Node,
  target: Target,
  subject: AccessSubject,
  context: CallContext,
): Promise<AppError> {
  const source = await inheritedFrom(parts, node, target, subject);
  if (source !== undefined) return InheritedPermission({ source_resource_id: source.resourceId });
  const fromWorkspace =
    target.principal === undefined
      ? await isMemberLine(parts, node, target.id, context)
      : await isMember(parts, node, target.principal, context);
  if (!fromWorkspace) return NotFound();
  return InheritedPermission({ source_resource_id: null, source_workspace_id: node.workspaceId });
}

async function inheritedFrom(
  parts: SharingParts,
  node: Node,
  { id, principal }: Target,
  { now }: AccessSubject,
): Promise<Grant | undefined> {
  const above = reachOfGrants(node).filter((one) => one !== node.id);
  if (above.length === 0) return undefined;
  const ids = principal === undefined ? [id] : above.map((one) => grantId(one, principal));
  const found = await parts.grants.getMany(ids);
  return found.reverse().find((grant) => above.includes(grant.resourceId) && !isExpired(grant, now));
}

async function isMember(
  { peers }: SharingParts,
  node: Node,
  principal: string,
  context: CallContext,
): Promise<boolean> {
  const { kind, id: userId } = splitPrincipal(principal);
  if (kind !== 'user') return false;
  const { workspaces } = await peers.directory.getMemberships({ userId }, context.onward);
  const mine = workspaces.find(({ workspaceId }) => workspaceId === node.workspaceId);
  return mine !== undefined && roleBelow(node, mine.role) !== undefined;
}
