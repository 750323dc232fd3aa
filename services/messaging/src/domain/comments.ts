import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, idsIn, orgOf, textIn } from './draft.js';

/** Returns drafts for a new comment: one for the mentioned people, one for the other participants of the thread. */
export function commentCreated(event: DomainEvent): Draft[] {
  const { mentions, participants, threadId } = event.data;
  const mentioned = idsIn(mentions);
  const others = idsIn(participants).filter((id) => !mentioned.includes(id));
  return [
    ...aboutComment(event, 'mention', mentioned, `mention:${resourceOf(event)}`),
    ...aboutComment(event, 'comment_reply', others, `reply:${textIn(threadId)}`),
  ];
}

/** Returns drafts for an edited comment, which may mention people for the first time. */
export function commentUpdated(event: DomainEvent): Draft[] {
  return aboutComment(event, 'mention', idsIn(event.data.mentions), `mention:${resourceOf(event)}`);
}

/** Returns drafts for the participants of a thread that was resolved. */
export function commentResolved(event: DomainEvent): Draft[] {
  const { participants, threadId } = event.data;
  return aboutComment(event, 'comment_resolved', idsIn(participants), `resolved:${textIn(threadId)}`);
}

function resourceOf({ data }: DomainEvent): string {
  return textIn(data.resourceId);
}

function aboutComment(event: DomainEvent, type: Draft['type'], to: string[], groupKey: string): Draft[] {
  const workspaceId = textIn(event.data.workspaceId);
  const target = { type: 'resource', id: resourceOf(event) } as const;
  const draft = { type, to, groupKey, target, orgId: orgOf(event, workspaceId), workspaceId, facts: {} };
  return to.length === 0 ? [] : [draft];
}
