import type { Handlers } from '@commonplace/kit/rpc';
import type {
  AccessRequestService,
  ListAccessRequestsRequest,
} from '@commonplace/proto/resources/v1/access_request_service.js';
import { may } from '../../domain/role.js';
import { requireReach, type Standing } from '../../policy.js';
import { decide } from '../decide.js';
import { listAccessRequests, requestMessage } from '../list-requests.js';
import type { SharingParts } from '../parts.js';
import { requestAccess } from '../request-access.js';

export function createAccessRequestHandlers(parts: SharingParts): Handlers<AccessRequestService> {
  const { policy } = parts;
  return {
    async listAccessRequests(request, context) {
      const standing = await policy.standing(context);
      const requesterId = await ownOnly(parts, request, standing);
      return listAccessRequests(parts, request, requesterId, standing);
    },

    async createAccessRequest(request, context) {
      const standing = await policy.standing(context);
      const { record, isNew } = await requestAccess(parts, request, standing, context);
      if (!isNew) context.reply.status = 200;
      return requestMessage(record, standing.now);
    },

    async updateAccessRequest(request, context) {
      const standing = await policy.standing(context);
      const { record, permission } = await decide(parts, request, standing, context);
      return requestMessage(record, standing.now, permission);
    },
  };
}

/** Returns whose requests the caller may list: undefined for all, as a manager, else their own id. Throws NotFound. */
async function ownOnly(
  parts: SharingParts,
  { resourceId }: Pick<ListAccessRequestsRequest, 'resourceId'>,
  standing: Standing,
): Promise<string | undefined> {
  const { userId } = standing.caller;
  const node = await parts.tree.get(resourceId);
  const isHidden =
    node === undefined || (node.state === 'active' && (await parts.policy.accessTo(node, standing)) === undefined);
  if (isHidden) {
    // Also counted for a resource that does not exist, so that the answer takes as long.
    const mine = await parts.accessRequests.count({ resourceId, requesterId: userId }, 1);
    if (mine > 0 && node !== undefined) {
      requireReach(standing.caller, node);
      return userId;
    }
  }
  const { access } = await parts.policy.see(resourceId, standing);
  return may(access.role, 'manage') ? undefined : userId;
}
