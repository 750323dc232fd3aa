import type { Caller } from '@commonplace/kit/auth';
import { InsufficientRole, invalidField, NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { CreateAccessRequestRequest } from '@commonplace/proto/resources/v1/access_request_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Node } from '../domain/node.js';
import { isAtLeast, type Role } from '../domain/role.js';
import { HasAccess, RequestNotPending, tooManyRequests } from '../errors.js';
import { type AccessSubject, notFound, requireReach } from '../policy.js';
import { roleNamed } from '../wire.js';
import { publishAccessRequest } from './events.js';
import { managersOf } from './managers.js';
import type { SharingParts } from './parts.js';
import { type AccessRequest, statusAt } from './request-records.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Milliseconds for which a request stays pending. */
const OPEN_MS = 30 * DAY_MS;

/**
 * Requests a role on a node of a tenant that the caller belongs to, whether they can read it or not. Returns the
 * pending request if there is one.
 */
export async function requestAccess(
  parts: SharingParts,
  request: CreateAccessRequestRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<{ record: AccessRequest; isNew: boolean }> {
  const node = await parts.tree.get(request.resourceId);
  if (node === undefined) throw await notFound(subject);
  if (node.state === 'trashed') {
    await requireTenant(node, subject);
    throw NotFound();
  }
  await requireTenant(node, subject);
  const access = await parts.policy.accessTo(node, subject);
  await requireAllowed(node, access !== undefined, subject);
  const role = roleNamed(request.role) ?? 'viewer';
  if (role === 'owner')
    throw invalidField('role', 'invalid_value', 'must not be owner: ownership is transferred, not requested.');
  if (access !== undefined && isAtLeast(access.role, role)) throw HasAccess({ role: access.role });
  return open(parts, node, role, request.message, subject, context);
}

/** Throws NotFound for a node of another tenant, and a boundary error if only the credential does not reach it. */
async function requireTenant(node: Node, subject: AccessSubject): Promise<void> {
  const isHere = () => subject.person.orgs.has(node.tenant) || subject.person.workspaces.has(node.tenant);
  if (!isHere()) await subject.refresh();
  if (!isHere()) throw NotFound();
  requireReach(subject.caller, node);
}

/**
 * Throws unless the workspace accepts access requests, and those of guests of the Org. A caller who cannot see the node
 * gets NotFound instead of the reason.
 */
async function requireAllowed(node: Node, isSeen: boolean, subject: AccessSubject): Promise<void> {
  const terms = await subject.terms(node.workspaceId);
  const isGuest = subject.person.orgs.get(node.tenant)?.role === OrgRole.GUEST;
  const setting = !terms.allowAccessRequests
    ? 'allow_access_requests'
    : isGuest && !terms.allowExternalAccessRequests
      ? 'allow_external_access_requests'
      : undefined;
  if (setting === undefined) return;
  throw isSeen ? InsufficientRole({ setting }) : NotFound();
}

async function open(
  parts: SharingParts,
  node: Node,
  role: Role,
  message: string | undefined,
  subject: AccessSubject,
  context: CallContext,
): Promise<{ record: AccessRequest; isNew: boolean }> {
  const { caller, now } = subject;
  const [last] = await parts.accessRequests.find({
    where: { resourceId: node.id, requesterId: caller.userId },
    sort: ['-createdAt'],
    limit: 1,
  });
  if (last !== undefined) {
    const status = statusAt(last, now);
    if (status === 'pending') return { record: last, isNew: false };
    if (status === 'denied') requireDayPast(last, now);
    if (last.openKey !== undefined) {
      const { openKey: _, ...over } = last;
      context.work.replace(parts.accessRequests, last, { ...over, status: 'expired' });
    }
  }
  await requireRoom(parts, caller, now);
  await parts.quotas.accessRequests.reserve(context.work, caller.userId);
  const record = context.work.insert(parts.accessRequests, {
    id: newId(),
    tenant: node.tenant,
    workspaceId: node.workspaceId,
    resourceId: node.id,
    requesterId: caller.userId,
    requesterName: caller.userName,
    role,
    message,
    status: 'pending',
    openKey: `${node.id}:${caller.userId}`,
    createdAt: now,
    expiresAt: later(now, OPEN_MS),
  });
  publishAccessRequest(context, 'created', record, await managersOf(parts, node, subject.now, context));
  return { record, isNew: true };
}

/** Throws `request_not_pending` if the last request was denied less than a day ago. */
function requireDayPast({ decidedAt = '' }: AccessRequest, now: string): void {
  const repeatable = later(decidedAt, DAY_MS);
  if (now < repeatable) throw RequestNotPending({ status: 'denied', repeatable_at: repeatable });
}

async function requireRoom({ accessRequests, settings }: SharingParts, { userId }: Caller, now: string): Promise<void> {
  const limit = settings.accessRequestsPerHour;
  const recent = await accessRequests.find({
    where: { requesterId: userId, createdAt: { gt: later(now, -HOUR_MS) } },
    sort: ['-createdAt'],
    limit,
  });
  const oldest = recent.at(-1);
  if (recent.length < limit || oldest === undefined) return;
  const waitMs = Date.parse(later(oldest.createdAt, HOUR_MS)) - Date.parse(now);
  throw tooManyRequests(limit, Math.max(1, Math.ceil(waitMs / 1000)));
}

function later(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}
