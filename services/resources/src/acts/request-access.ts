import { type Caller, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, invalidField, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { CreateAccessRequestRequest } from '@commonplace/proto/resources/v1/access_request_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { isAtLeast, type Role } from '../domain/access.js';
import { HasAccess, RequestNotPending, tooManyRequests } from '../errors.js';
import { publishAccessRequest } from '../events.js';
import { roleNamed } from '../handlers/present.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import { type AccessRequest, statusAt } from '../stores/access-requests.js';
import type { Node } from '../stores/nodes.js';
import { managersOf } from './managers.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A request is open so long. */
const OPEN_MS = 30 * DAY_MS;

/** Asks for a role on a node of the same tenant, readable or not; an open request is given again. */
export async function requestAccess(
  parts: Parts,
  request: CreateAccessRequestRequest,
  standing: Standing,
  context: CallContext,
): Promise<{ record: AccessRequest; isNew: boolean }> {
  const node = await parts.tree.get(request.resourceId);
  if (node === undefined || node.state === 'trashed') throw NotFound();
  await requireTenant(node, standing);
  const access = await parts.policy.accessTo(node, standing);
  await requireAllowed(node, access !== undefined, standing);
  const role = roleNamed(request.role) ?? 'viewer';
  if (role === 'owner')
    throw invalidField('role', 'invalid_value', 'must not be owner: that is handed over, not asked for.');
  if (access !== undefined && isAtLeast(access.role, role)) throw HasAccess({ role: access.role });
  return open(parts, node, role, request.message, standing, context);
}

/** Nobody learns of what is in another tenant; who could reach it with another credential knows it. */
async function requireTenant(node: Node, standing: Standing): Promise<void> {
  const isHere = () => standing.person.orgs.has(node.tenant) || standing.person.workspaces.has(node.tenant);
  if (!isHere()) await standing.refresh();
  if (!isHere()) throw NotFound();
  if (!reachesWorkspace(standing.caller, node.workspaceId, node.orgId)) throw TenantBoundary();
}

/** Whether the workspace takes requests, and from guests of the Org; who does not see the node is not told why. */
async function requireAllowed(node: Node, isSeen: boolean, standing: Standing): Promise<void> {
  const terms = await standing.terms(node.workspaceId);
  const isGuest = standing.person.orgs.get(node.tenant)?.role === OrgRole.GUEST;
  const setting = !terms.allowAccessRequests
    ? 'allow_access_requests'
    : isGuest && !terms.allowExternalAccessRequests
      ? 'allow_external_access_requests'
      : undefined;
  if (setting === undefined) return;
  throw isSeen ? InsufficientRole({ setting }) : NotFound();
}

async function open(
  parts: Parts,
  node: Node,
  role: Role,
  message: string | undefined,
  standing: Standing,
  context: CallContext,
): Promise<{ record: AccessRequest; isNew: boolean }> {
  const { caller, now } = standing;
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
  publishAccessRequest(context, 'created', record, await managersOf(parts, node, standing.now, context));
  return { record, isNew: true };
}

/** What was denied can be asked for again a day later. */
function requireDayPast({ decidedAt = '' }: AccessRequest, now: string): void {
  const repeatable = later(decidedAt, DAY_MS);
  if (now < repeatable) throw RequestNotPending({ status: 'denied', repeatable_at: repeatable });
}

async function requireRoom({ accessRequests, settings }: Parts, { userId }: Caller, now: string): Promise<void> {
  const limit = settings.accessRequests;
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
