import type { EventBus, Subscription } from '@commonplace/kit/events';
import { type Collection, findPages, inWork, type Where } from '@commonplace/kit/store';
import { consumeBatches, type TypedEvent } from '@commonplace/platform/events';
import type { ConversationRead, MessageChanged } from '@commonplace/proto/messaging/v1/events.js';
import { UNREAD_DAYS } from '../config.js';
import { daysAfter } from '../domain/days.js';
import type { Draft } from '../domain/draft.js';
import { inboxOf, type Notification } from '../notifications/records.js';
import {
  commitNotices,
  MAX_ATTEMPTS,
  MAX_RECIPIENTS,
  type Notice,
  notifyOnce,
  type WriteParts,
} from '../notifications/write.js';
import { isMutedAt } from './counts.js';
import type { ConversationParts } from './parts.js';
import { belongsTo } from './policy.js';
import { type MemberRecord, memberId } from './records.js';
import { notifyLevel } from './wire.js';

/** Dependencies for notifying people of messages. */
type NotifyParts = WriteParts & ConversationParts;

const FOLLOWED = ['messaging.message.created', 'messaging.message.updated', 'messaging.conversation.read'] as const;
type FollowedEvent = TypedEvent<(typeof FOLLOWED)[number]>;
type Created = TypedEvent<'messaging.message.created'>;
type News = Created | TypedEvent<'messaging.message.updated'>;

/** Maximum number of events that are handled together. */
const BATCH = 100;

/**
 * Subscribes to the service's own events: new messages create notifications, and reading a conversation marks its
 * notifications as read.
 */
export function watchMessages(parts: NotifyParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'messaging.messages', events: FOLLOWED, batch: BATCH } as const;
  return consumeBatches(bus, spec, (events) => handleEvents(parts, events));
}

/**
 * Handles events, those of one conversation in order. It combines consecutive messages of a conversation, so that a
 * busy conversation causes one write per person instead of one per message.
 */
async function handleEvents(parts: NotifyParts, events: readonly FollowedEvent[]): Promise<void> {
  const waiting = new Map<string, Created[]>();
  const notifyWaiting = async (conversationId: string) => {
    const messages = waiting.get(conversationId) ?? [];
    waiting.delete(conversationId);
    if (messages.length > 0) await notifyOfMessages(parts, messages);
  };
  for (const event of events) {
    const { conversationId } = event.data;
    if (isPlainMessage(event)) waiting.set(conversationId, [...(waiting.get(conversationId) ?? []), event]);
    else {
      await notifyWaiting(conversationId);
      await handleEvent(parts, event);
    }
  }
  for (const conversationId of [...waiting.keys()]) await notifyWaiting(conversationId);
}

/** Returns whether an event is about a new message that has no mentions and is not from the system. */
function isPlainMessage(event: FollowedEvent): event is Created {
  if (event.name !== 'messaging.message.created') return false;
  const { author, mentionedUserIds, mentionsAll } = event.data;
  return author?.type !== 'system' && mentionedUserIds.length === 0 && !mentionsAll;
}

async function handleEvent(parts: NotifyParts, event: FollowedEvent): Promise<void> {
  if (event.name === 'messaging.conversation.read') return settle(parts, event.data);
  const news = event.data;
  if (event.name === 'messaging.message.created') return notifyOfMessage(parts, event, news);
  if (news.mentionsAll) return notifyEverybody(parts, event, news);
  await notifyMembers(parts, event, await mentioned(parts, news), news, 'mention', event.id);
}

/** Notifies people of a message that contains mentions: those mentioned, and members who want all messages. */
async function notifyOfMessage(parts: NotifyParts, event: Created, news: MessageChanged): Promise<void> {
  if (news.author?.type === 'system') return;
  if (news.mentionsAll) return notifyEverybody(parts, event, news);
  const people = await mentioned(parts, news);
  await notifyMembers(parts, event, people, news, 'mention', event.id);
  await notifyOfMessages(parts, [event], new Set(people.map(({ principalId }) => principalId)));
}

/** Notifies the members of a conversation of its messages, except those in `notified`, who are notified already. */
async function notifyOfMessages(
  parts: NotifyParts,
  events: readonly Created[],
  notified: ReadonlySet<string> = new Set(),
): Promise<void> {
  const news = events[0]?.data as MessageChanged;
  // In a channel, only members who have chosen `all` are notified of every message.
  const isChannel = (await parts.conversations.get(news.conversationId))?.type === 'channel';
  await forMembers(parts, news, isChannel ? { notify: 'all' } : {}, (members, at) =>
    notifyTogether(
      parts,
      events,
      members.filter(({ principalId }) => !notified.has(principalId)),
      at,
    ),
  );
}

/** Notifies members of messages in one commit, each member once. */
async function notifyTogether(
  parts: NotifyParts,
  events: readonly Created[],
  members: readonly MemberRecord[],
  at: number,
): Promise<void> {
  const markOf = ({ id }: Created) => `${id}:${at}`;
  for (let tries = 1; tries <= MAX_ATTEMPTS; tries++) {
    const seen = new Set((await parts.seenEvents.getMany(events.map(markOf))).map(({ id }) => id));
    const fresh = events.filter((event) => !seen.has(markOf(event)));
    const notices = await noticesOf(parts, fresh, members);
    if (notices.length === 0 || (await commitNotices(parts, notices, fresh.map(markOf)))) return;
  }
  throw new Error(
    `notifications of ${events.length} messages were not committed: ${MAX_ATTEMPTS} attempts met concurrent changes`,
  );
}

/**
 * Returns the notices about messages, grouping the members who share the same latest message and the same number of
 * messages.
 */
async function noticesOf(
  parts: NotifyParts,
  events: readonly Created[],
  members: readonly MemberRecord[],
): Promise<Notice[]> {
  const groups = new Map<string, { readonly event: Created; readonly to: string[]; readonly count: number }>();
  const now = parts.now();
  for (const member of members) {
    const wanted = events.filter(({ data }) => wants(member, data, 'message', now));
    const event = wanted.at(-1);
    if (event === undefined || !(await stillBelongs(parts, member))) continue;
    const key = `${event.id}:${wanted.length}`;
    const group = groups.get(key) ?? { event, to: [], count: wanted.length };
    groups.set(key, group);
    group.to.push(member.principalId);
  }
  return [...groups.values()].map(({ event, to, count }) => {
    const draft = draftOf(event.data, 'message', to);
    return { event, draft, count };
  });
}

function notifyEverybody(parts: NotifyParts, event: News, news: MessageChanged): Promise<void> {
  return forMembers(parts, news, {}, (members, at) =>
    notifyMembers(parts, event, members, news, 'mention', `${event.id}:${at}`),
  );
}

async function mentioned(
  { members }: NotifyParts,
  { conversationId, mentionedUserIds }: MessageChanged,
): Promise<MemberRecord[]> {
  return members.getMany(mentionedUserIds.map((id) => memberId(conversationId, id)));
}

/** Calls `visit` with the people of a conversation that match a filter, one page at a time. */
async function forMembers(
  { members }: NotifyParts,
  { conversationId }: MessageChanged,
  filter: Where<MemberRecord>,
  visit: (members: readonly MemberRecord[], at: number) => Promise<void>,
): Promise<void> {
  const where: Where<MemberRecord> = { conversationId, isActive: true, kind: 'user', ...filter };
  let at = 0;
  for await (const page of findPages(members, { where }, MAX_RECIPIENTS)) await visit(page, at++);
}

/** Notifies members of a message if their settings ask for it. */
async function notifyMembers(
  parts: NotifyParts,
  event: News,
  members: readonly MemberRecord[],
  news: MessageChanged,
  type: 'mention' | 'message',
  mark: string,
): Promise<void> {
  const now = parts.now();
  const to: string[] = [];
  for (const member of members) {
    if (wants(member, news, type, now) && (await stillBelongs(parts, member))) to.push(member.principalId);
  }
  if (to.length > 0) await notifyOnce(parts, event, [draftOf(news, type, to)], mark);
}

/** Returns whether a member's settings ask for a notification of a message that the member has not read. */
function wants(
  member: MemberRecord,
  { seq, author }: MessageChanged,
  type: 'mention' | 'message',
  now: number,
): boolean {
  const level = notifyLevel(member);
  return (
    member.isActive &&
    member.principalId !== author?.id &&
    member.lastReadSeq < seq &&
    member.visibleFromSeq <= seq &&
    !isMutedAt(member, now) &&
    (level === 'all' || (level === 'mentions' && type === 'mention'))
  );
}

async function stillBelongs({ memberships, systemCall }: NotifyParts, member: MemberRecord): Promise<boolean> {
  return belongsTo(await memberships.of(member.principalId, systemCall()), member);
}

function draftOf(
  { conversationId, seq, orgId, workspaceId }: MessageChanged,
  type: 'mention' | 'message',
  to: readonly string[],
): Draft {
  return {
    ...{ type, to, groupKey: groupKey(type, conversationId), target: { type: 'conversation', id: conversationId } },
    orgId: orgId || undefined,
    ...(workspaceId !== '' && { workspaceId }),
    facts: { seq },
  };
}

function groupKey(type: 'mention' | 'message', conversationId: string): string {
  return `${type}:conversation:${conversationId}`;
}

/** Marks a person's notifications about a conversation as read, as far as the person has read the conversation. */
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
      const expiresAt = daysAfter(parts.now(), Math.min(parts.settings.notificationDays, UNREAD_DAYS));
      work.replace(notifications, open, { ...rest, state: 'read', readAt, expiresAt });
    }
  });
}
