import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, idsIn, orgOf, textIn } from './draft.js';

/** A form was answered: those are told whom it names, once for all responses that they have not read of. */
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

/** A webhook of a form was switched off, for it took nothing any more: whoever made the form is told. */
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
