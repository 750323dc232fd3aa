import { AppError, invalidField, invalidFields } from '@commonplace/kit/errors';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { type Collection, findPage, timeBetween, type Where } from '@commonplace/kit/store';
import { enumName } from '@commonplace/platform/enums';
import {
  type ListNotificationsRequest,
  type NotificationService,
  NotificationState,
  NotificationType as NotificationTypeName,
  type UpdateNotificationsRequest,
} from '@commonplace/proto/messaging/v1/notification_service.js';
import { type Settings, UNREAD_DAYS } from '../config.js';
import { daysAfter } from '../domain/days.js';
import type { NotificationType } from '../domain/draft.js';
import { isWithin, type Reach, reachOf } from './policy.js';
import { type PresentParts, present } from './present.js';
import { findInbox, type Notification, type State } from './records.js';

interface NotificationParts extends PresentParts {
  readonly settings: Pick<Settings, 'publicUrl' | 'notificationDays'>;
  readonly notifications: Collection<Notification>;
  /** Returns the current time in epoch milliseconds. */
  now(): number;
}

export function createNotificationHandlers(parts: NotificationParts): Handlers<NotificationService> {
  const { notifications } = parts;
  const countUnread = (reach: Reach) => notifications.count({ ...reach, state: 'unread' });

  return {
    async listNotifications(request, context) {
      const reach = await reachOf(parts, context, request.workspaceId);
      const where = { ...reach, ...filterOf(request) };
      const total = await notifications.count(where);
      const { items, page } = await findPage(notifications, where, NEWEST_FIRST, request.page, total);
      // Counting last includes every notification that the list shows.
      const unreadCount = await countUnread(reach);
      return { items: await present(parts, context, items), unreadCount, page };
    },

    async updateNotifications(request, context) {
      const { isRead, isArchived } = request;
      if (isRead === undefined && isArchived === undefined) {
        throw new AppError('INVALID_ARGUMENT', 'no_update_field', 'is_read or is_archived is required.', {
          param: 'is_read',
        });
      }
      const { reach, chosen } = await choose(parts, context, request);
      let unreadCount = await countUnread(reach);
      let updatedCount = 0;
      for (const one of chosen) {
        const after = changed(parts, one, request);
        if (after.state === one.state && after.readAt === one.readAt) continue;
        context.work.replace(notifications, one, after);
        updatedCount++;
        unreadCount += Number(after.state === 'unread') - Number(one.state === 'unread');
      }
      return { updatedCount, unreadCount };
    },

    async deleteNotifications(request, context) {
      const { reach, chosen } = await choose(parts, context, request);
      const unreadCount = await countUnread(reach);
      for (const one of chosen) context.work.remove(notifications, one);
      const unread = chosen.filter(({ state }) => state === 'unread').length;
      return { deletedCount: chosen.length, unreadCount: unreadCount - unread };
    },
  };
}

const STATES: Partial<Record<NotificationState, State>> = {
  [NotificationState.UNREAD]: 'unread',
  [NotificationState.READ]: 'read',
  [NotificationState.ARCHIVED]: 'archived',
};

function filterOf({ state, type, createdAfter, createdBefore }: ListNotificationsRequest): Where<Notification> {
  const wanted = STATES[state];
  const at = timeBetween(createdAfter, createdBefore);
  return {
    ...(at && { at }),
    ...(wanted === undefined ? {} : { state: wanted }),
    ...(type === NotificationTypeName.UNSPECIFIED ? {} : { type: typeOf(type) }),
  };
}

function typeOf(name: NotificationTypeName): NotificationType {
  return enumName(name, 'NOTIFICATION_TYPE') as NotificationType;
}

const NEWEST_FIRST = ['-at'] as const;

/** The notifications that a request selects. */
interface Selector {
  readonly ids: readonly string[];
  readonly all: boolean;
  readonly before: string | undefined;
}

/** Returns the caller's notifications that a request selects. Ids of other people's notifications are ignored. */
async function choose(
  parts: NotificationParts,
  context: CallContext,
  { ids, all, before }: Selector,
): Promise<{ reach: Reach; chosen: Notification[] }> {
  if (ids.length > 0 && all) throw invalidField('all', 'ambiguous_target', 'does not go with ids.');
  if (ids.length === 0 && !all) throw invalidField('ids', 'missing_target', 'is required, or all: true.');
  if (before !== undefined && !all) {
    throw invalidFields([
      { param: 'before', code: 'invalid_value', message: 'before is allowed only with all: true.' },
    ]);
  }
  const reach = await reachOf(parts, context);
  if (all) {
    const where = before === undefined ? reach : { ...reach, at: { lt: before } };
    return { reach, chosen: await findInbox(parts.notifications, where) };
  }
  const found = await parts.notifications.getMany([...new Set(ids)]);
  return { reach, chosen: found.filter((one) => isWithin(reach, one, context.caller)) };
}

/**
 * Returns a notification with the requested marks. Once it is no longer unread, later events of its group create a new
 * one.
 */
function changed(
  { now, settings }: NotificationParts,
  before: Notification,
  { isRead, isArchived }: UpdateNotificationsRequest,
): Omit<Notification, 'version'> {
  const { openKey, readAt: wasRead, ...rest } = before;
  const archived = isArchived ?? before.state === 'archived';
  const read = isRead ?? wasRead !== undefined;
  const readAt = read ? (wasRead ?? new Date(now()).toISOString()) : undefined;
  const state = archived ? 'archived' : read ? 'read' : 'unread';
  return {
    ...rest,
    ...(openKey !== undefined && state === 'unread' ? { openKey } : {}),
    ...(readAt === undefined ? {} : { readAt }),
    state,
    expiresAt: read ? daysAfter(Date.parse(readAt ?? ''), settings.notificationDays) : daysAfter(now(), UNREAD_DAYS),
  };
}
