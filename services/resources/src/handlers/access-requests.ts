import { reachesWorkspace } from '@commonplace/kit/auth';
import { TenantBoundary } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type {
  AccessRequestService,
  ListAccessRequestsRequest,
} from '@commonplace/proto/resources/v1/access_request_service.js';
import { decide } from '../acts/decide.js';
import { requestAccess } from '../acts/request-access.js';
import { may } from '../domain/access.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import { listAccessRequests, requestMessage } from '../views/access-requests.js';

export function createAccessRequestHandlers(parts: Parts): Handlers<AccessRequestService> {
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

/** Whose requests a caller sees: everybody's as a manager, their own otherwise. Throws NotFound. */
async function ownOnly(
  parts: Parts,
  { resourceId }: Pick<ListAccessRequestsRequest, 'resourceId'>,
  standing: Standing,
): Promise<string | undefined> {
  const { userId } = standing.caller;
  const node = await parts.tree.get(resourceId);
  if (node !== undefined && node.state === 'active' && (await parts.policy.accessTo(node, standing)) === undefined) {
    const mine = await parts.accessRequests.count({ resourceId, requesterId: userId }, 1);
    if (mine > 0) {
      if (!reachesWorkspace(standing.caller, node.workspaceId, node.orgId)) throw TenantBoundary();
      return userId;
    }
  }
  const { access } = await parts.policy.see(resourceId, standing);
  return may(access.role, 'manage') ? undefined : userId;
}
