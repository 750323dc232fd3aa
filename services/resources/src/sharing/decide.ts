import type { Actor } from '@commonplace/kit/auth';
import { InsufficientRole, invalidField, NotFound } from '@commonplace/kit/errors';
import { type Authorship, type CallContext, requireVersion } from '@commonplace/kit/rpc';
import type { UpdateAccessRequestRequest } from '@commonplace/proto/resources/v1/access_request_service.js';
import type { Permission } from '@commonplace/proto/resources/v1/permission.js';
import { reachOfGrants } from '../domain/access.js';
import { grantId } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { isAtLeast, may, type Role } from '../domain/role.js';
import { MemberUnavailable, RequestNotPending, RoleEscalation } from '../errors.js';
import { type AccessSubject, requireCapability, requireReach, type Seen } from '../policy.js';
import { roleNamed } from '../wire.js';
import { publishAccessRequest } from './events.js';
import { combineTerms, putGrants } from './grants.js';
import { statusNamed } from './list-requests.js';
import { ownTerms, requireLasting } from './own-terms.js';
import type { SharingParts } from './parts.js';
import { namesOf, permissionMessage } from './permission.js';
import { type AccessRequest, statusAt } from './request-records.js';

interface Decision {
  readonly record: AccessRequest;
  /** The permission that an approval has granted. */
  readonly permission?: Permission | undefined;
}

/** Approves or denies a request, as a manager, or cancels it, as the requester. */
export async function decide(
  parts: SharingParts,
  request: UpdateAccessRequestRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<Decision> {
  const record = await parts.accessRequests.get(request.requestId);
  if (record === undefined) {
    // Takes as long as for an existing request of another person, so that timing does not reveal which ids exist.
    await parts.policy.see(request.requestId, subject);
    throw NotFound();
  }
  const status = statusNamed(request.status);
  if (status === 'canceled') await requireRequester(parts, record, subject);
  else await requireDecider(parts, record, subject);
  if (status !== 'approved' && status !== 'denied' && status !== 'canceled') {
    throw invalidField('status', 'invalid_value', 'must be approved, denied or canceled.');
  }
  const grants = status === 'approved' ? await approvable(parts, record, request, subject) : undefined;
  requireVersion(context, record.version, lastChangeOf(record));
  const now = statusAt(record, subject.now);
  if (now !== 'pending') throw RequestNotPending({ status: now });
  if (grants !== undefined) await requireHere(parts, record, grants.target.node, context);

  const permission = grants === undefined ? undefined : await approve(parts, record, request, grants, subject, context);
  const { openKey: _, ...rest } = record;
  const decided = context.work.replace(parts.accessRequests, record, {
    ...rest,
    status,
    decidedBy: context.actor,
    decidedAt: subject.now,
    decisionMessage: request.message,
    ...(grants === undefined ? {} : { grantedRole: grants.role }),
  });
  publishAccessRequest(context, 'decided', decided, status === 'canceled' ? [] : [record.requesterId]);
  return { record: decided, permission };
}

/** Returns who changed a request last: who decided it, else who made it. */
function lastChangeOf(record: AccessRequest): Authorship {
  const { requesterId: id, requesterName: name } = record;
  const updatedBy = record.decidedBy ?? ({ type: 'user', id, name } satisfies Actor);
  return { updatedBy, updatedAt: record.decidedAt ?? record.createdAt };
}

/** Throws InsufficientRole for a manager who has not made the request, and NotFound for everybody else who has not. */
async function requireRequester(parts: SharingParts, record: AccessRequest, subject: AccessSubject): Promise<void> {
  if (record.requesterId !== subject.caller.userId) {
    await requireManager(parts, record, subject);
    throw InsufficientRole();
  }
  const { tenant, workspaceId } = record;
  requireReach(subject.caller, { workspaceId, orgId: tenant === workspaceId ? null : tenant });
}

/** Throws NotFound unless the caller manages the resource: other readers of it do not see the requests of people. */
async function requireManager(parts: SharingParts, record: AccessRequest, subject: AccessSubject): Promise<void> {
  const { access } = await parts.policy.see(record.resourceId, subject);
  if (!may(access.role, 'manage')) throw NotFound();
}

/**
 * Throws unless the caller manages the resource. The requester knows of the request, so they get InsufficientRole where
 * others get NotFound.
 */
async function requireDecider(parts: SharingParts, record: AccessRequest, subject: AccessSubject): Promise<void> {
  if (record.requesterId === subject.caller.userId) {
    const node = await parts.tree.get(record.resourceId);
    const access = node === undefined ? undefined : await parts.policy.accessTo(node, subject);
    if (access === undefined || !may(access.role, 'manage')) {
      await requireRequester(parts, record, subject);
      throw InsufficientRole();
    }
  }
  await requireManager(parts, record, subject);
}

interface ApprovalTarget {
  readonly target: Seen;
  readonly role: Role;
}

/** Returns the node on which an approval grants a role, and the role. Throws if either is not permitted. */
async function approvable(
  parts: SharingParts,
  record: AccessRequest,
  request: UpdateAccessRequestRequest,
  subject: AccessSubject,
): Promise<ApprovalTarget> {
  const seen = await parts.policy.see(record.resourceId, subject);
  const targetId = request.targetResourceId ?? record.resourceId;
  const target = targetId === record.resourceId ? seen : await parts.policy.see(targetId, subject);
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
  if (request.expiresAt !== undefined && request.expiresAt <= subject.now) {
    throw invalidField('expires_at', 'invalid_value', 'must be in the future.');
  }
  if (target.access.expiresAt !== undefined) {
    requireLasting(await ownTerms(parts.policy, target.node, subject), { role, expiresAt: request.expiresAt });
  }
  return { target, role };
}

/**
 * Throws MemberUnavailable if the requester has left the Org or the Personal workspace, or is suspended. A grant made now would
 * outlast the membership that the request was made with: it would be there as soon as they came back.
 */
async function requireHere(
  { policy }: SharingParts,
  { requesterId }: AccessRequest,
  { tenant }: Pick<Node, 'tenant'>,
  context: CallContext,
): Promise<void> {
  if (!(await policy.belongsTo(tenant, requesterId, context))) throw MemberUnavailable();
}

/** Grants the role without shortening or prolonging what the requester already holds. */
async function approve(
  parts: SharingParts,
  record: AccessRequest,
  request: UpdateAccessRequestRequest,
  { target, role }: ApprovalTarget,
  subject: AccessSubject,
  context: CallContext,
): Promise<Permission> {
  const principal = `user:${record.requesterId}`;
  const held = await context.work.get(parts.grants, grantId(target.node.id, principal));
  const requested = { principal, ...combineTerms(held, { role, expiresAt: request.expiresAt }, subject.now) };
  // The requester is notified of the decision itself, not of the grant.
  const { node, grants } = await putGrants(parts, target.node, [requested], { notify: false }, context);
  const names = await namesOf(parts, grants, subject, context);
  return permissionMessage(node, grants[0] as (typeof grants)[number], names);
}
