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
