import type { Handlers } from '@commonplace/kit/rpc';
import type {
  AccessRequestService,
  ListAccessRequestsRequest,
} from '@commonplace/proto/resources/v1/access_request_service.js';
import { may } from '../../domain/role.js';
import { type AccessSubject, requireReach } from '../../policy.js';
import { decide } from '../decide.js';
import { listAccessRequests, requestMessage } from '../list-requests.js';
import type { SharingParts } from '../parts.js';
import { requestAccess } from '../request-access.js';

export function createAccessRequestHandlers(parts: SharingParts): Handlers<AccessRequestService> {
  const { policy } = parts;
  return {
    async listAccessRequests(request, context) {
      const subject = await policy.subject(context);
      const requesterId = await ownOnly(parts, request, subject);
      return listAccessRequests(parts, request, requesterId, subject);
    },

    async createAccessRequest(request, context) {
      const subject = await policy.subject(context);
      const { record, isNew } = await requestAccess(parts, request, subject, context);
      if (!isNew) context.reply.status = 200;
      return requestMessage(record, subject.now);
    },

    async updateAccessRequest(request, context) {
      const subject = await policy.subject(context);
      const { record, permission } = await decide(parts, request, subject, context);
      return requestMessage(record, subject.now, permission);
    },
  };
}

/** Returns whose requests the caller may list: undefined for all, as a manager, else their own id. Throws NotFound. */
async function ownOnly(
  parts: SharingParts,
  { resourceId }: Pick<ListAccessRequestsRequest, 'resourceId'>,
  subject: AccessSubject,
): Promise<string | undefined> {
  const { userId } = subject.caller;
  const node = await parts.tree.get(resourceId);
  const isHidden =
    node === undefined || (node.state === 'active' && (await parts.policy.accessTo(node, subject)) === undefined);
  if (isHidden) {
    // Also counted for a resource that does not exist, so that the answer takes as long.
    const mine = await parts.accessRequests.count({ resourceId, requesterId: userId }, 1);
    if (mine > 0 && node !== undefined) {
      requireReach(subject.caller, node);
      return userId;
    }
  }
  const { access } = await parts.policy.see(resourceId, subject);
  return may(access.role, 'manage') ? undefined : userId;
}
