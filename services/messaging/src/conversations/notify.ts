import type { EventBus, Subscription } from '@commonplace/kit/events';
import { type Collection, inWork, type Scalar, type Where } from '@commonplace/kit/store';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import type { ConversationRead, MessageChanged } from '@commonplace/proto/messaging/v1/events.js';
import { UNREAD_DAYS } from '../config.js';
import { daysAfter } from '../domain/days.js';
import type { Draft } from '../domain/draft.js';
import { inboxOf, type Notification } from '../notifications/records.js';
import { MOST_PEOPLE, notifyOnce, type WriteParts } from '../notifications/write.js';
import { isMutedAt } from './counts.js';
import type { ConversationParts } from './parts.js';
import { belongsTo } from './policy.js';
import { type MemberRecord, memberId } from './records.js';
import { notifyLevel } from './wire.js';

/** What notifies people of messages. */
export type NotifyParts = WriteParts & ConversationParts;

const FOLLOWED = ['messaging.message.created', 'messaging.message.updated', 'messaging.conversation.read'] as const;
type Followed = TypedEvent<(typeof FOLLOWED)[number]>;
type News = TypedEvent<'messaging.message.created' | 'messaging.message.updated'>;

/** Subscribes to the service's own events: messages notify their readers, and reading settles notifications. */
export function watchMessages(parts: NotifyParts, bus: EventBus): Promise<Subscription> {
  return consume(bus, { consumer: 'messaging.messages', events: FOLLOWED }, (event) => handleEvent(parts, event));
}

async function handleEvent(parts: NotifyParts, event: Followed): Promise<void> {
  if (event.name === 'messaging.conversation.read') return settle(parts, event.data);
  const news = event.data;
  if (event.name === 'messaging.message.created') return tellOfMessage(parts, event, news);
  if (news.mentionsAll) return tellEverybody(parts, event, news);
  await tell(parts, event, await mentioned(parts, news), news, 'mention', event.id);
}

async function tellOfMessage(parts: NotifyParts, event: News, news: MessageChanged): Promise<void> {
  if (news.author?.type === 'system') return;
  if (news.mentionsAll) return tellEverybody(parts, event, news);
  const people = await mentioned(parts, news);
  await tell(parts, event, people, news, 'mention', event.id);
  const told = new Set(people.map(({ principalId }) => principalId));
  // In a channel only few want to be told of everything: all others have not chosen it.
  const isChannel = (await parts.conversations.get(news.conversationId))?.type === 'channel';
  await forMembers(parts, news, isChannel ? { notify: 'all' } : {}, async (members, at) => {
    const others = members.filter(({ principalId }) => !told.has(principalId));
    await tell(parts, event, others, news, 'message', `${event.id}:${at}`);
  });
}

function tellEverybody(parts: NotifyParts, event: News, news: MessageChanged): Promise<void> {
  return forMembers(parts, news, {}, (members, at) =>
    tell(parts, event, members, news, 'mention', `${event.id}:${at}`),
  );
}

async function mentioned(
  { members }: NotifyParts,
  { conversationId, mentionedUserIds }: MessageChanged,
): Promise<MemberRecord[]> {
  return members.getMany(mentionedUserIds.map((id) => memberId(conversationId, id)));
}

/** Calls back with the people of a conversation that match a filter, some at a time. */
async function forMembers(
  { members }: NotifyParts,
  { conversationId }: MessageChanged,
  filter: Where<MemberRecord>,
  visit: (members: readonly MemberRecord[], at: number) => Promise<void>,
): Promise<void> {
  const where: Where<MemberRecord> = { conversationId, isActive: true, kind: 'user', ...filter };
  for (let at = 0, after: Scalar[] | undefined; ; at++) {
    const page = await members.find({ where, limit: MOST_PEOPLE, ...(after && { after }) });
    await visit(page, at);
    const last = page.at(-1);
    if (last === undefined || page.length < MOST_PEOPLE) return;
    after = [last.id];
  }
}

/**
 * Notifies members of a message, if they want to be told of it, have not read it already, and still belong to the place of
 * the conversation.
 */
async function tell(
  parts: NotifyParts,
  event: News,
  members: readonly MemberRecord[],
  { conversationId, seq, author, orgId, workspaceId }: MessageChanged,
  type: 'mention' | 'message',
  mark: string,
): Promise<void> {
  const now = parts.now();
  const wanted = members.filter((member) => {
    const level = notifyLevel(member);
    return (
      member.isActive &&
      member.principalId !== author?.id &&
      member.lastReadSeq < seq &&
      member.visibleFromSeq <= seq &&
      !isMutedAt(member, now) &&
      (level === 'all' || (level === 'mentions' && type === 'mention'))
    );
  });
  const to: string[] = [];
  for (const member of wanted) {
    const person = await parts.memberships.of(member.principalId, parts.systemCall());
    if (belongsTo(person, member)) to.push(member.principalId);
  }
  if (to.length === 0) return;
  const draft: Draft = {
    ...{ type, to, groupKey: groupKey(type, conversationId), target: { type: 'conversation', id: conversationId } },
    orgId: orgId || undefined,
    ...(workspaceId !== '' && { workspaceId }),
    facts: { seq },
  };
  await notifyOnce(parts, event, [draft], mark);
}

function groupKey(type: 'mention' | 'message', conversationId: string): string {
  return `${type}:conversation:${conversationId}`;
}

/** Marks what a person was notified of in a conversation as read, as far as they have read it. */
async function settle(
  parts: NotifyParts,
  { conversationId, userId, orgId, lastReadSeq }: ConversationRead,
): Promise<void> {
  const inbox = inboxOf(userId, orgId || undefined);
  const notifications: Collection<Notification> = parts.notifications;
  await inWork(parts.store, async (work) => {
    for (const type of ['mention', 'message'] as const) {
      const openKey = `${inbox}:${groupKey(type, conversationId)}`;
      const [open] = await notifications.find({ where: { openKey }, limit: 1 });
      if (open === undefined || (open.facts.seq ?? 0) > lastReadSeq) continue;
      const { openKey: _, ...rest } = open;
      const readAt = new Date(parts.now()).toISOString();
      const expiresAt = daysAfter(parts.now(), Math.min(parts.settings.readDays, UNREAD_DAYS));
      work.replace(notifications, open, { ...rest, state: 'read', readAt, expiresAt });
    }
  });
}
