import type { Breathe } from '@commonplace/kit/slices';
import { type Collection, findAll, type Where } from '@commonplace/kit/store';
import { EVERYBODY, type MentionRecord, type MessageRecord, mentionKey } from './message-records.js';
import type { ConversationParts } from './parts.js';
import { type HeadRecord, type MemberRecord, memberId } from './records.js';

type CountParts = Pick<ConversationParts, 'heads' | 'members' | 'messages' | 'mentions'>;

/** The number of messages that a member has not read, and how many of them mention the member. */
export interface Unread {
  readonly unreadCount: number;
  readonly mentionCount: number;
}

type HeadCounts = Pick<HeadRecord, 'id' | 'lastSeq' | 'firstSeq' | 'lastUncountedSeq' | 'lastMentionSeq'>;
type Marker = Pick<MemberRecord, 'principalId' | 'lastReadSeq' | 'visibleFromSeq' | 'lastOwnSeq'>;

/**
 * Returns the number of the last message that is read by a member, hidden from them or removed; later ones may be
 * unread.
 */
function readThrough({ firstSeq }: HeadCounts, { lastReadSeq, visibleFromSeq }: Marker): number {
  return Math.max(lastReadSeq, visibleFromSeq - 1, firstSeq - 1);
}

/**
 * Counts the messages after a member's marker that others have written and that are not deleted. It subtracts the
 * messages that do not count from the difference of the numbers, and queries them only if the head and the member show
 * that there may be any. Own messages and deleted ones among them are counted separately, each by an index: a program
 * that posts with a key never moves its marker.
 */
async function countUnread({ messages }: CountParts, head: HeadCounts, member: Marker): Promise<number> {
  const { all, others } = unreadOf(head, member);
  return all - sumOf(others, await messages.countEach(others.map(({ where }) => where)));
}

/** Messages to subtract from a difference of numbers, or to add again with `factor` -1. */
interface Subtracted {
  readonly where: Where<MessageRecord>;
  readonly factor: 1 | -1;
}

function sumOf(others: readonly Subtracted[], counts: readonly number[]): number {
  return others.reduce((sum, { factor }, at) => sum + factor * (counts[at] ?? 0), 0);
}

/** Returns the difference of the numbers, and what to subtract from it. */
function unreadOf(head: HeadCounts, member: Marker): { readonly all: number; readonly others: readonly Subtracted[] } {
  const from = readThrough(head, member);
  const all = head.lastSeq - from;
  if (all <= 0) return { all: 0, others: [] };
  const seq = { gt: from, lte: head.lastSeq };
  const conversationId = head.id;
  const hasUncounted = head.lastUncountedSeq > from;
  const hasOwn = member.lastOwnSeq > from;
  const own = { conversationId, authorId: member.principalId };
  const others: Subtracted[] = [];
  if (hasUncounted) others.push({ where: { conversationId, uncountedSeq: seq }, factor: 1 });
  if (hasOwn) others.push({ where: { ...own, seq }, factor: 1 });
  if (hasOwn && hasUncounted) others.push({ where: { ...own, uncountedSeq: seq }, factor: -1 });
  return { all, others };
}

/** Counts the unread messages that mention a member. */
async function countMentions({ mentions }: CountParts, head: HeadCounts, member: Marker): Promise<number> {
  const from = readThrough(head, member);
  if (head.lastMentionSeq <= from || head.lastSeq <= from) return 0;
  return countMentionRows(mentions, head, member, from);
}

async function countMentionRows(
  mentions: Collection<MentionRecord>,
  { id, lastSeq }: HeadCounts,
  { principalId }: Marker,
  from: number,
): Promise<number> {
  const seq = { gt: from, lte: lastSeq };
  const authorId = { not: principalId };
  const counts = await Promise.all(
    [principalId, EVERYBODY].map((who) => mentions.count({ key: mentionKey(id, who), seq, authorId })),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

export async function countBoth(parts: CountParts, head: HeadCounts, member: Marker): Promise<Unread> {
  const [unreadCount, mentionCount] = await Promise.all([
    countUnread(parts, head, member),
    countMentions(parts, head, member),
  ]);
  return { unreadCount, mentionCount };
}

/** Counts the messages that a member can see and that are not deleted. */
export async function countVisible(
  { messages }: CountParts,
  head: HeadCounts & Pick<HeadRecord, 'deletedCount'>,
  { visibleFromSeq }: Pick<MemberRecord, 'visibleFromSeq'>,
): Promise<number> {
  const first = Math.max(head.firstSeq, visibleFromSeq);
  const all = Math.max(0, head.lastSeq - first + 1);
  if (head.deletedCount === 0 || all === 0) return all;
  if (first === head.firstSeq) return all - head.deletedCount;
  const where: Where<MessageRecord> = { conversationId: head.id, deletedSeq: { gte: first, lte: head.lastSeq } };
  return all - (await messages.count(where));
}

/** Maximum attempts at a count while messages are being deleted or removed. */
const MAX_ROUNDS = 10;

/**
 * Counts over several reads so that the result is consistent: if messages were deleted or removed in the meantime, it
 * counts again. Messages sent in the meantime do not matter, since the count ends at the latest number in the head. It
 * reads `member` after the head, so that the membership includes every own message that the head counts.
 */
export async function countSteadily<T>(
  parts: CountParts,
  conversationId: string,
  userId: string,
  count: (head: HeadRecord, member: MemberRecord) => Promise<T>,
): Promise<{ readonly head: HeadRecord; readonly member: MemberRecord; readonly counted: T } | undefined> {
  for (let round = 1; ; round++) {
    const head = await parts.heads.get(conversationId);
    const member = await parts.members.get(memberId(conversationId, userId));
    if (head === undefined || member === undefined) return undefined;
    const counted = await count(head, member);
    const after = await parts.heads.get(conversationId);
    // A marker beyond the latest message of the head was read later than the head.
    const isSteady = after?.epoch === head.epoch && member.lastReadSeq <= head.lastSeq;
    if (after === undefined || isSteady || round === MAX_ROUNDS) return { head, member, counted };
  }
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
  for (let at = 0; at < unclear.length; at += COUNTED_AT_ONCE) {
    for (const [id, count] of await countTogether(parts, unclear.slice(at, at + COUNTED_AT_ONCE))) {
      if (count > 0) counts.set(id, count);
    }
    await breathe();
  }
  return counts;
}

const COUNTED_AT_ONCE = 50;

async function countAgain(parts: CountParts, { conversationId, principalId }: MemberRecord): Promise<number> {
  const steady = await countSteadily(parts, conversationId, principalId, (head, member) =>
    countUnread(parts, head, member),
  );
  return steady?.counted ?? 0;
}

/**
 * Counts the unread messages of some conversations in one read, as `countSteadily` does for one. Those in which messages
 * were deleted or removed in the meantime are counted again one by one.
 */
async function countTogether(parts: CountParts, of: readonly MemberRecord[]): Promise<(readonly [string, number])[]> {
  const ids = of.map(({ conversationId }) => conversationId);
  const heads = await parts.heads.getMany(ids);
  const members = await parts.members.getMany(of.map(({ id }) => id));
  const memberOf = new Map(members.map((member) => [member.conversationId, member]));
  const read = heads.flatMap((head) => {
    const member = memberOf.get(head.id);
    return member === undefined ? [] : [{ head, member, ...unreadOf(head, member) }];
  });
  const counted = await parts.messages.countEach(read.flatMap(({ others }) => others.map(({ where }) => where)));
  const epochs = new Map((await parts.heads.getMany(ids)).map(({ id, epoch }) => [id, epoch]));
  let next = 0;
  const counts: (readonly [string, number])[] = [];
  for (const { head, member, all, others } of read) {
    const count = all - sumOf(others, counted.slice(next, next + others.length));
    next += others.length;
    const isSteady = epochs.get(head.id) === head.epoch && member.lastReadSeq <= head.lastSeq;
    counts.push([head.id, isSteady ? count : await countAgain(parts, member)]);
  }
  return counts;
}
