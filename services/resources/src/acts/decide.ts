import { reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, invalidField, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import type { UpdateAccessRequestRequest } from '@commonplace/proto/resources/v1/access_request_service.js';
import type { Permission } from '@commonplace/proto/resources/v1/permission.js';
import { isAtLeast, may, type Role, reachOfGrants } from '../domain/access.js';
import { RequestNotPending, RoleEscalation } from '../errors.js';
import { publishAccessRequest } from '../events.js';
import { roleNamed } from '../handlers/present.js';
import type { Parts } from '../parts.js';
import { requireCapability, type Seen, type Standing } from '../policy.js';
import { type AccessRequest, statusAt } from '../stores/access-requests.js';
import { grantId, isExpired } from '../stores/grants.js';
import { statusNamed } from '../views/access-requests.js';
import { namesOf, permissionMessage } from '../views/permission.js';
import { greaterRole, putGrants } from './grants.js';

export interface Decided {
  readonly record: AccessRequest;
  /** What an approval has granted. */
  readonly permission?: Permission | undefined;
}

/** Approves or denies a request, as a manager, or cancels it, as the one who made it. */
export async function decide(
  parts: Parts,
  request: UpdateAccessRequestRequest,
  standing: Standing,
  context: CallContext,
): Promise<Decided> {
  const record = await parts.accessRequests.get(request.requestId);
  if (record === undefined) throw NotFound();
  const status = statusNamed(request.status);
  if (status === 'canceled') await requireRequester(parts, record, standing);
  else await requireDecider(parts, record, standing);
  if (status !== 'approved' && status !== 'denied' && status !== 'canceled') {
    throw invalidField('status', 'invalid_value', 'must be approved, denied or canceled.');
  }
  const grants = status === 'approved' ? await approvable(parts, record, request, standing) : undefined;
  requireVersion(context, record.version, { updatedAt: record.decidedAt ?? record.createdAt });
  const now = statusAt(record, standing.now);
  if (now !== 'pending') throw RequestNotPending({ status: now });

  const permission =
    grants === undefined ? undefined : await approve(parts, record, request, grants, standing, context);
  const { openKey: _, ...rest } = record;
  const decided = context.work.replace(parts.accessRequests, record, {
    ...rest,
    status,
    decidedBy: context.actor,
    decidedAt: standing.now,
    decisionMessage: request.message,
    ...(grants === undefined ? {} : { grantedRole: grants.role }),
  });
  publishAccessRequest(context, 'decided', decided, status === 'canceled' ? [] : [record.requesterId]);
  return { record: decided, permission };
}

/** Whoever made the request may cancel it; others who see it may not. */
async function requireRequester(parts: Parts, record: AccessRequest, standing: Standing): Promise<void> {
  if (record.requesterId !== standing.caller.userId) {
    await parts.policy.see(record.resourceId, standing);
    throw InsufficientRole();
  }
  const { tenant, workspaceId } = record;
  if (!reachesWorkspace(standing.caller, workspaceId, tenant === workspaceId ? null : tenant)) throw TenantBoundary();
}

/** A manager of the resource; the requester knows of the request, and is refused where others find nothing. */
async function requireDecider(parts: Parts, record: AccessRequest, standing: Standing): Promise<void> {
  if (record.requesterId === standing.caller.userId) {
    const node = await parts.tree.get(record.resourceId);
    const access = node === undefined ? undefined : await parts.policy.accessTo(node, standing);
    if (access === undefined || !may(access.role, 'manage')) {
      await requireRequester(parts, record, standing);
      throw InsufficientRole();
    }
  }
  requireCapability(await parts.policy.see(record.resourceId, standing), 'manage');
}

interface Approvable {
  readonly target: Seen;
  readonly role: Role;
}

/** Where an approval grants which role. Throws what is wrong with either. */
async function approvable(
  parts: Parts,
  record: AccessRequest,
  request: UpdateAccessRequestRequest,
  standing: Standing,
): Promise<Approvable> {
  const seen = await parts.policy.see(record.resourceId, standing);
  const targetId = request.targetResourceId ?? record.resourceId;
  const target = targetId === record.resourceId ? seen : await parts.policy.see(targetId, standing);
  requireCapability(target, 'manage');
  const role = roleNamed(request.role) ?? record.role;
  if (!isAtLeast(target.access.role, role)) throw RoleEscalation({ own: target.access.role });
  if (!reachOfGrants(seen.node).includes(targetId)) {
    throw invalidField(
      'target_resource_id',
      'invalid_value',
      'must be the resource or an ancestor that it inherits from.',
    );
  }
  if (request.expiresAt !== undefined && request.expiresAt <= standing.now) {
    throw invalidField('expires_at', 'invalid_value', 'must be in the future.');
  }
  return { target, role };
}

/** Grants the role, and takes nothing from the requester that they have been given meanwhile. */
async function approve(
  parts: Parts,
  record: AccessRequest,
  request: UpdateAccessRequestRequest,
  { target, role }: Approvable,
  standing: Standing,
  context: CallContext,
): Promise<Permission> {
  const principal = `user:${record.requesterId}`;
  const held = await context.work.get(parts.grants, grantId(target.node.id, principal));
  const holds = held !== undefined && !isExpired(held, standing.now);
  const keeps = holds && isAtLeast(held.role, role) && held.expiresAt === undefined;
  const wish = keeps
    ? { principal, role: held.role }
    : { principal, role: holds ? greaterRole(held.role, role) : role, expiresAt: request.expiresAt };
  // The decision itself is what the requester is told of.
  const { node, grants } = await putGrants(parts, target.node, [wish], { notify: false }, context);
  const names = await namesOf(parts, grants, standing, context);
  return permissionMessage(node, grants[0] as (typeof grants)[number], names);
}
