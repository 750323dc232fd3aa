import type { Breathe } from '@commonplace/kit/slices';
import { type Collection, findAll, type Where } from '@commonplace/kit/store';
import { EVERYBODY, type MentionRecord, type MessageRecord, mentionKey } from './message-records.js';
import type { ConversationParts } from './parts.js';
import type { HeadRecord, MemberRecord } from './records.js';

type CountParts = Pick<ConversationParts, 'heads' | 'members' | 'messages' | 'mentions'>;

/** The number of messages that a member has not read, and how many of them mention the member. */
export interface Unread {
  readonly unreadCount: number;
  readonly mentionCount: number;
}

/** With the number of messages that the member can see and that are not deleted. */
export interface Counts extends Unread {
  readonly messageCount: number;
}

type CountedHead = Pick<
  HeadRecord,
  'id' | 'lastSeq' | 'firstSeq' | 'lastUncountedSeq' | 'lastMentionSeq' | 'deletedCount'
>;
type Marker = Pick<MemberRecord, 'principalId' | 'lastReadSeq' | 'visibleFromSeq' | 'lastOwnSeq'>;

/**
 * Returns the number of the last message that is read by a member, hidden from them or removed; later ones may be
 * unread.
 */
function readThrough({ firstSeq }: CountedHead, { lastReadSeq, visibleFromSeq }: Marker): number {
  return Math.max(lastReadSeq, visibleFromSeq - 1, firstSeq - 1);
}

/** Counts to be made in a conversation for one of its members, and the number or numbers that follow from them. */
interface Plan<T> {
  readonly messages: readonly Where<MessageRecord>[];
  readonly mentions: readonly Where<MentionRecord>[];
  result(messages: readonly number[], mentions: readonly number[]): T;
}

/** Returns the counts that a question needs, for a head and a membership that were read one after the other. */
type Question<T> = (head: CountedHead, member: Marker) => Plan<T>;

/**
 * The messages after a member's marker that others have written and that are not deleted. The messages that do not count
 * are subtracted from the difference of the numbers, and queried only if the head and the member show that there may be
 * any. Own messages and deleted ones among them are counted separately, each by an index: a program that posts with a
 * key never moves its marker.
 */
const unreadMessages: Question<number> = (head, member) => {
  const from = readThrough(head, member);
  const all = Math.max(0, head.lastSeq - from);
  const seq = { gt: from, lte: head.lastSeq };
  const conversationId = head.id;
  const hasUncounted = all > 0 && head.lastUncountedSeq > from;
  const hasOwn = all > 0 && member.lastOwnSeq > from;
  const own = { conversationId, authorId: member.principalId };
  const subtracted: Where<MessageRecord>[] = [
    ...(hasUncounted ? [{ conversationId, uncountedSeq: seq }] : []),
    ...(hasOwn ? [{ ...own, seq }] : []),
  ];
  const both: Where<MessageRecord>[] = hasOwn && hasUncounted ? [{ ...own, uncountedSeq: seq }] : [];
  return {
    messages: [...subtracted, ...both],
    mentions: [],
    result: (counts) => all - sumOf(counts.slice(0, subtracted.length)) + sumOf(counts.slice(subtracted.length)),
  };
};

/** The unread messages that mention a member. */
const unreadMentions: Question<number> = (head, member) => {
  const from = readThrough(head, member);
  const mayBeMentioned = head.lastMentionSeq > from && head.lastSeq > from;
  const about = { seq: { gt: from, lte: head.lastSeq }, authorId: { not: member.principalId } };
  const keys = mayBeMentioned ? [member.principalId, EVERYBODY].map((who) => mentionKey(head.id, who)) : [];
  return { messages: [], mentions: keys.map((key) => ({ key, ...about })), result: (_, mentions) => sumOf(mentions) };
};

/** The messages that a member can see and that are not deleted. */
const visibleMessages: Question<number> = (head, { visibleFromSeq }) => {
  const first = Math.max(head.firstSeq, visibleFromSeq);
  const all = Math.max(0, head.lastSeq - first + 1);
  const known = head.deletedCount === 0 || all === 0 ? 0 : first === head.firstSeq ? head.deletedCount : undefined;
  const deleted = { conversationId: head.id, deletedSeq: { gte: first, lte: head.lastSeq } };
  return {
    messages: known === undefined ? [deleted] : [],
    mentions: [],
    result: (counts) => all - (known ?? sumOf(counts)),
  };
};

/** The messages that a member has not read. */
export const unreadCounts: Question<Unread> = (head, member) => {
  const unread = unreadMessages(head, member);
  const mentioning = unreadMentions(head, member);
  return {
    messages: unread.messages,
    mentions: mentioning.mentions,
    result: (messages, mentions) => ({
      unreadCount: unread.result(messages, []),
      mentionCount: mentioning.result([], mentions),
    }),
  };
};

/** The messages that a member has not read, and those that they can see. */
export const allCounts: Question<Counts> = (head, member) => {
  const unread = unreadCounts(head, member);
  const visible = visibleMessages(head, member);
  const { length } = unread.messages;
  return {
    messages: [...unread.messages, ...visible.messages],
    mentions: unread.mentions,
    result: (messages, mentions) => ({
      ...unread.result(messages.slice(0, length), mentions),
      messageCount: visible.result(messages.slice(length), []),
    }),
  };
};

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

/** Answers a question about a conversation from its head and a membership as they are given. */
export async function countOnce<T>(
  parts: CountParts,
  head: CountedHead,
  member: Marker,
  question: Question<T>,
): Promise<T> {
  const [answer] = await countAll(parts, [{ head, member }], question);
  return answer as T;
}

/** Answers a question about some conversations with one read of messages and one of mentions. */
async function countAll<T>(
  { messages, mentions }: CountParts,
  read: readonly { readonly head: CountedHead; readonly member: Marker }[],
  question: Question<T>,
): Promise<T[]> {
  const plans = read.map(({ head, member }) => question(head, member));
  const [ofMessages, ofMentions] = await Promise.all([
    messages.countEach(plans.flatMap((plan) => plan.messages)),
    mentions.countEach(plans.flatMap((plan) => plan.mentions)),
  ]);
  return plans.map((plan) =>
    plan.result(ofMessages.splice(0, plan.messages.length), ofMentions.splice(0, plan.mentions.length)),
  );
}

/** Maximum attempts at a count while messages are being deleted or removed. */
const MAX_ROUNDS = 10;
/** Number of conversations whose messages are counted in one read. */
const COUNTED_AT_ONCE = 50;

/** The answer to a question about a conversation, with the records that it was counted from. */
export interface Steady<T> {
  readonly head: HeadRecord;
  readonly member: MemberRecord;
  readonly counted: T;
}

type Membership = Pick<MemberRecord, 'id' | 'conversationId'>;

/**
 * Answers a question about conversations of a member, each with a consistent result; returns the answers by
 * conversation. Those in which messages were deleted or removed while they were counted are counted again. Messages sent
 * in the meantime do not matter, since the count ends at the latest number in the head.
 */
export async function countSteadily<T>(
  parts: CountParts,
  of: readonly Membership[],
  question: Question<T>,
  breathe: Breathe,
): Promise<ReadonlyMap<string, Steady<T>>> {
  const answers = new Map<string, Steady<T>>();
  for (let at = 0; at < of.length; at += COUNTED_AT_ONCE) {
    let left = of.slice(at, at + COUNTED_AT_ONCE);
    for (let round = 1; left.length > 0; round++) {
      const read = await readAndCount(parts, left, question);
      for (const { isSteady: _, ...answer } of read) answers.set(answer.head.id, answer);
      left = round === MAX_ROUNDS ? [] : read.filter(({ isSteady }) => !isSteady).map(({ member }) => member);
    }
    await breathe();
  }
  return answers;
}

/** Answers a question about some conversations, and tells of each whether nothing was removed meanwhile. */
async function readAndCount<T>(
  parts: CountParts,
  of: readonly Membership[],
  question: Question<T>,
): Promise<(Steady<T> & { readonly isSteady: boolean })[]> {
  const ids = of.map(({ conversationId }) => conversationId);
  const heads = await parts.heads.getMany(ids);
  // Read after the heads, the memberships include every own message that a head counts.
  const members = await parts.members.getMany(of.map(({ id }) => id));
  const memberOf = new Map(members.map((member) => [member.conversationId, member]));
  const read = heads.flatMap((head) => {
    const member = memberOf.get(head.id);
    return member === undefined ? [] : [{ head, member }];
  });
  const counts = await countAll(parts, read, question);
  const epochs = new Map((await parts.heads.getMany(ids)).map(({ id, epoch }) => [id, epoch]));
  return read.map(({ head, member }, at) => {
    const epoch = epochs.get(head.id);
    // A marker beyond the latest message of the head was read later than the head.
    const isSteady = epoch === undefined || (epoch === head.epoch && member.lastReadSeq <= head.lastSeq);
    return { head, member, counted: counts[at] as T, isSteady };
  });
}

/**
 * Number of records that one query reads; a person may be in thousands of conversations, and other requests run between
 * two queries.
 */
const CHUNK = 200;

/** Returns all active memberships of a person. */
export function membershipsOf(members: Collection<MemberRecord>, userId: string): Promise<MemberRecord[]> {
  return findAll(members, { where: { principalId: userId, isActive: true } }, CHUNK);
}

/** Returns the heads of conversations, by their ids. */
export async function headsOf(
  heads: Collection<HeadRecord>,
  ids: readonly string[],
  breathe: Breathe,
): Promise<ReadonlyMap<string, HeadRecord>> {
  const found = new Map<string, HeadRecord>();
  for (let at = 0; at < ids.length; at += CHUNK) {
    for (const head of await heads.getMany(ids.slice(at, at + CHUNK))) found.set(head.id, head);
    await breathe();
  }
  return found;
}

/** Returns whether a member's mute of a conversation is in effect at a time. */
export function isMutedAt({ isMuted, mutedUntil }: Pick<MemberRecord, 'isMuted' | 'mutedUntil'>, now: number): boolean {
  return isMuted && (mutedUntil === undefined || Date.parse(mutedUntil) > now);
}

/**
 * The numbers of unread messages of a person's conversations, by conversation; those without unread messages are
 * absent.
 */
type UnreadByConversation = ReadonlyMap<string, number>;

/** Milliseconds after which the commit of a message has succeeded or failed, even if the clocks of processes differ. */
const SETTLED_MS = 60_000;

/** A person's conversations as they were read: first the memberships, from `readAt` on, then the heads. */
interface ReadConversations {
  readonly memberships: readonly MemberRecord[];
  readonly heads: ReadonlyMap<string, HeadRecord>;
  /** Epoch milliseconds. */
  readonly readAt: number;
}

/**
 * Counts the unread messages in each of a person's conversations. A conversation that is read to the end, or in which
 * nothing was sent or removed lately, costs no further query; most others share one query per chunk; those with deleted
 * or own messages after the marker take a few queries each.
 */
export async function countUnreadIn(
  parts: CountParts,
  { memberships, heads, readAt }: ReadConversations,
  breathe: Breathe,
): Promise<UnreadByConversation> {
  const counts = new Map<string, number>();
  const unclear: MemberRecord[] = [];
  const add = (member: MemberRecord, head: HeadRecord) => {
    const from = readThrough(head, member);
    if (head.lastUncountedSeq > from || member.lastOwnSeq > from) unclear.push(member);
    else if (head.lastSeq > from) counts.set(head.id, head.lastSeq - from);
  };
  // Sending a message can move the author's marker in the commit that changes the head. A membership that was read
  // before the head changed is therefore inconsistent with it and is read again.
  const settled = new Date(readAt - SETTLED_MS).toISOString();
  const changing: string[] = [];
  for (const member of memberships) {
    const head = heads.get(member.conversationId);
    if (head === undefined || head.lastSeq <= readThrough(head, member)) continue;
    if (head.firstSeq === 1 && head.lastMessageAt < settled) add(member, head);
    else changing.push(member.id);
  }
  for (let at = 0; at < changing.length; at += CHUNK) {
    for (const member of await parts.members.getMany(changing.slice(at, at + CHUNK))) {
      add(member, heads.get(member.conversationId) as HeadRecord);
    }
    await breathe();
  }
  for (const [id, { counted }] of await countSteadily(parts, unclear, unreadMessages, breathe)) {
    if (counted > 0) counts.set(id, counted);
  }
  return counts;
}
