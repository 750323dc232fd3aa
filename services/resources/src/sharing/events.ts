import type { CallContext } from '@commonplace/kit/rpc';
import type { Grant } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { publicName } from '../domain/principals.js';
import type { AccessRequest } from './request-records.js';

/** Whether the recipients of a grant are notified, and with which message. */
export interface NotificationOptions {
  readonly notify: boolean;
  readonly message?: string | undefined;
}

/** Publishes that a grant was created, changed or revoked. */
export function publishPermission(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'granted' | 'changed' | 'revoked',
  node: Pick<Node, 'id' | 'workspaceId' | 'tenant'>,
  grant: Grant,
  { notify, message }: NotificationOptions,
): void {
  const data = {
    resourceId: node.id,
    workspaceId: node.workspaceId,
    principal: publicName(grant.principal),
    role: grant.role,
    notify,
    ...(message === undefined ? {} : { message }),
    ...(grant.expiresAt === undefined ? {} : { expiresAt: grant.expiresAt }),
  };
  context.work.publish(context.event(`permission.${verb}`, node.id, data, node.tenant));
}

/** Publishes that a node was restricted, or inherits access again. */
export function publishAccessMode(
  context: Pick<CallContext, 'work' | 'event'>,
  { id, workspaceId, tenant, restricted }: Pick<Node, 'id' | 'workspaceId' | 'tenant' | 'restricted'>,
): void {
  const data = { resourceId: id, workspaceId, accessMode: restricted ? 'restricted' : 'inherit' };
  context.work.publish(context.event('access_mode.changed', id, data, tenant));
}

/** Publishes that an access request was created or decided, with the people to notify. */
export function publishAccessRequest(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'created' | 'decided',
  request: AccessRequest,
  notifyUserIds: readonly string[],
): void {
  const { id, resourceId, workspaceId, requesterId, role, grantedRole, status, tenant } = request;
  const message = verb === 'created' ? request.message : request.decisionMessage;
  const data = {
    requestId: id,
    resourceId,
    workspaceId,
    requesterId,
    role: grantedRole ?? role,
    status,
    ...(message === undefined ? {} : { message }),
    notifyUserIds: [...notifyUserIds],
  };
  context.work.publish(context.event(`access_request.${verb}`, resourceId, data, tenant));
}
