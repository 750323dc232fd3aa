import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, type Facts, idsIn, orgOf, type Target, textIn } from './draft.js';

/** Maximum characters of a name or title, and of the text of a notice. */
export const MAX_TITLE = 255;
export const MAX_BODY = 4_000;

/** Returns the draft for people to whom a work item was assigned. */
export function workItemAssigned(event: DomainEvent): Draft[] {
  const { assignedUserIds } = event.data;
  return draftsOf(event, 'work_item_assigned', assignedUserIds, {
    groupKey: `work_item:${event.subject}`,
    target: { type: 'work_item', id: event.subject },
    facts: {},
  });
}

/** Returns the draft for the people to notify of a failed automation run. Failures of one automation are grouped. */
export function automationFailed(event: DomainEvent): Draft[] {
  const { notifyUserIds, automationId, disabled } = event.data;
  const id = textIn(automationId);
  return draftsOf(event, 'automation_failed', notifyUserIds, {
    // A separate group keeps the notice that the automation was switched off apart from earlier failures.
    groupKey: `automation:${id}${disabled === true ? ':disabled' : ''}`,
    target: { type: 'automation', id },
    facts: { disabled: disabled === true },
    evenDoer: true,
  });
}

/** Returns the draft for the people to notify of a schedule that the system has paused. */
export function schedulePaused(event: DomainEvent): Draft[] {
  const { notifyUserIds } = event.data;
  return draftsOf(event, 'schedule_paused', notifyUserIds, {
    groupKey: `schedule:${event.subject}`,
    target: { type: 'schedule', id: event.subject },
    facts: {},
    evenDoer: true,
  });
}

/** Returns the draft for the notice that an automation sends with its action `notify`. Notices are not grouped. */
export function automationNotice(event: DomainEvent): Draft[] {
  const { userIds, automationId, title, body, resourceId } = event.data;
  const resource = textIn(resourceId);
  const target: Target =
    resource === '' ? { type: 'automation', id: textIn(automationId) } : { type: 'resource', id: resource };
  const message = cut(visibleText(textIn(body)), MAX_BODY);
  return draftsOf(event, 'automation_notice', userIds, {
    ...{ groupKey: `notice:${event.id}`, target, evenDoer: true },
    facts: { title: lineOf(title), ...(message !== '' && { message }) },
  });
}

function draftsOf(
  event: DomainEvent,
  type: Draft['type'],
  to: unknown,
  rest: Pick<Draft, 'groupKey' | 'target' | 'evenDoer'> & { readonly facts: Facts },
): Draft[] {
  const ids = idsIn(to);
  const workspaceId = textIn(event.data.workspaceId);
  return ids.length === 0
    ? []
    : [{ type, to: ids, orgId: orgOf(event, workspaceId), workspaceId, membersOnly: true, ...rest }];
}

/** Returns a text as one line of visible characters, at most MAX_TITLE characters long. */
export function lineOf(value: unknown): string {
  return cut(visibleText(textIn(value)).replace(/\s+/gu, ' ').trim(), MAX_TITLE);
}

/** Characters that are invisible or change how others are shown: controls, directions, tags, joiners. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\u2028\u2029]/gu;

/** Removes invisible characters from a text, except line breaks and the joiners that emoji and some scripts need. */
function visibleText(text: string): string {
  return text
    .replace(/\r\n?/gu, '\n')
    .replace(UNSEEN, (found) => (KEPT.has(found) ? found : found === '\t' ? ' ' : ''));
}

const KEPT: ReadonlySet<string> = new Set(['\n', '\u200c', '\u200d']);

function cut(text: string, most: number): string {
  const points = [...text];
  return points.length <= most ? text : `${points.slice(0, most - 1).join('')}…`;
}
