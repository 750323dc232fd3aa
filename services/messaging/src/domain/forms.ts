import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, idsIn, orgOf, textIn } from './draft.js';

/**
 * Returns the draft for a new response to a form, addressed to the people that the event names. Unread responses of one
 * form are grouped.
 */
export function formSubmitted(event: DomainEvent): Draft[] {
  const { formId, notifyUserIds } = event.data;
  const to = idsIn(notifyUserIds);
  if (to.length === 0) return [];
  const workspaceId = textIn(event.data.workspaceId);
  return [
    {
      type: 'form_submitted',
      to,
      groupKey: `form:${textIn(formId)}`,
      target: { type: 'resource', id: textIn(event.data.resourceId) },
      orgId: orgOf(event, workspaceId),
      workspaceId,
      facts: {},
    },
  ];
}

/**
 * Returns the draft for a webhook that was disabled after failed deliveries, addressed to the people that the event
 * names.
 */
export function webhookDisabled(event: DomainEvent): Draft[] {
  const { formId, notifyUserIds } = event.data;
  const workspaceId = textIn(event.data.workspaceId);
  return [
    {
      type: 'webhook_disabled',
      to: idsIn(notifyUserIds),
      groupKey: `webhook:${textIn(formId)}`,
      target: { type: 'resource', id: textIn(event.data.resourceId) },
      orgId: orgOf(event, workspaceId),
      workspaceId,
      facts: { host: textIn(event.data.host) },
    },
  ];
}
