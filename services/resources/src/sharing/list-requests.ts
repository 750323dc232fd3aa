import { findPage, type Sort, timesWithin, type Where } from '@commonplace/kit/store';
import { actorMessage } from '@commonplace/platform/actors';
import { namesByValue, valuesByName } from '@commonplace/platform/enums';
import {
  type AccessRequest as AccessRequestMessage,
  AccessRequestStatus,
} from '@commonplace/proto/resources/v1/access_request.js';
import type {
  ListAccessRequestsRequest,
  ListAccessRequestsResponse,
} from '@commonplace/proto/resources/v1/access_request_service.js';
import type { Permission } from '@commonplace/proto/resources/v1/permission.js';
import type { AccessSubject } from '../policy.js';
import { roleMessage } from '../wire.js';
import type { SharingParts } from './parts.js';
import { type AccessRequest, statusAt } from './request-records.js';

const STATUSES = valuesByName(AccessRequestStatus);
const STATUS_NAMES: Partial<Record<AccessRequestStatus, AccessRequest['status']>> = namesByValue(AccessRequestStatus);

/** Returns the stored name of a status; undefined if none was given. */
export const statusNamed = (status: AccessRequestStatus) => STATUS_NAMES[status];

/** Returns the message of a request as of a time (RFC 3339). */
export function requestMessage(record: AccessRequest, now: string, permission?: Permission): AccessRequestMessage {
  const { decidedBy, grantedRole } = record;
  return {
    id: record.id,
    resourceId: record.resourceId,
    requester: { id: record.requesterId, name: record.requesterName },
    role: roleMessage(record.role),
    message: record.message,
    status: STATUSES[statusAt(record, now)],
    decidedBy: decidedBy === undefined ? undefined : actorMessage(decidedBy),
    decidedAt: record.decidedAt,
    grantedRole: grantedRole === undefined ? undefined : roleMessage(grantedRole),
    decisionMessage: record.decisionMessage,
    createdAt: record.createdAt,
    expiresAt: record.expiresAt,
    version: record.version,
    permission,
  };
}

const NEWEST_FIRST: Sort<AccessRequest> = ['-createdAt'];
const OLDEST_FIRST: Sort<AccessRequest> = ['createdAt'];

/** Returns a page of a resource's requests: all, or those of one person. */
export async function listAccessRequests(
  { accessRequests }: SharingParts,
  { resourceId, status, page, sort, ...times }: ListAccessRequestsRequest,
  requesterId: string | undefined,
  { now }: AccessSubject,
): Promise<ListAccessRequestsResponse> {
  const where = {
    resourceId,
    ...(requesterId === undefined ? {} : { requesterId }),
    ...statusFilter(statusNamed(status), now),
    ...timesWithin(times),
  };
  const total = await accessRequests.count(where);
  const order = sort === 'created_at' ? OLDEST_FIRST : NEWEST_FIRST;
  const found = await findPage(accessRequests, where, order, page, total);
  return { items: found.items.map((record) => requestMessage(record, now)), page: found.page };
}

/** Returns the filter for a status; a pending request past its expiry time counts as expired. */
function statusFilter(status: AccessRequest['status'] | undefined, now: string): Where<AccessRequest> {
  if (status === undefined) return {};
  if (status === 'pending') return { status, expiresAt: { gt: now } };
  if (status === 'expired') return { or: [{ status }, { status: 'pending', expiresAt: { lte: now } }] };
  return { status };
}
