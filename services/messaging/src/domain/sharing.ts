import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, idsIn, orgOf, textIn } from './draft.js';

/** Returns the draft for a person who was granted a role, if the grantor asked for a notification. */
export function permissionGranted(event: DomainEvent): Draft[] {
  const { principal, notify } = event.data;
  const [kind, userId = ''] = textIn(principal).split(':');
  if (notify !== true || kind !== 'user') return [];
  return aboutResource(event, 'resource_shared', [userId], 'shared');
}

/**
 * Returns the draft for an access request, addressed to the people who may decide it. Requests of one person are
 * grouped.
 */
export function accessRequested(event: DomainEvent): Draft[] {
  const { notifyUserIds, requesterId } = event.data;
  return aboutResource(event, 'access_requested', idsIn(notifyUserIds), `access:${textIn(requesterId)}`);
}

/**
 * Returns the draft for a decided access request, addressed to the people that the event names. A withdrawn request
 * yields no draft.
 */
export function accessDecided(event: DomainEvent): Draft[] {
  const { status, notifyUserIds } = event.data;
  if (status !== 'approved' && status !== 'denied') return [];
  return aboutResource(event, 'access_decided', idsIn(notifyUserIds), 'decided', { approved: status === 'approved' });
}

function aboutResource(
  event: DomainEvent,
  type: Draft['type'],
  to: string[],
  group: string,
  more: Draft['facts'] = {},
): Draft[] {
  const { message, role } = event.data;
  const workspaceId = textIn(event.data.workspaceId);
  const id = textIn(event.data.resourceId);
  if (to.length === 0) return [];
  const note = textIn(message) === '' ? {} : { message: textIn(message) };
  return [
    {
      type,
      to,
      groupKey: `${group}:${id}`,
      target: { type: 'resource', id },
      orgId: orgOf(event, workspaceId),
      workspaceId,
      facts: { ...note, role: textIn(role), ...more },
    },
  ];
}
