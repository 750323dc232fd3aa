import type { Breathe } from '@commonplace/kit/slices';
import type { Collection, Scalar, UnitOfWork, Where } from '@commonplace/kit/store';
import { EVERYBODY, type MentionRecord, type MessageRecord, mentionKey } from './message-records.js';
import type { ConversationParts } from './parts.js';
import { type HeadRecord, type MemberRecord, memberId } from './records.js';

type CountParts = Pick<ConversationParts, 'heads' | 'members' | 'messages' | 'mentions'>;

/** What one member has not read. */
export interface Unread {
  readonly unreadCount: number;
  readonly mentionCount: number;
}

type HeadCounts = Pick<HeadRecord, 'id' | 'lastSeq' | 'firstSeq' | 'lastUncountedSeq' | 'lastMentionSeq'>;
type Marker = Pick<MemberRecord, 'principalId' | 'lastReadSeq' | 'visibleFromSeq' | 'lastOwnSeq'>;

/** Returns the number up to which nothing is unread for a member. */
function readThrough({ firstSeq }: HeadCounts, { lastReadSeq, visibleFromSeq }: Marker): number {
  return Math.max(lastReadSeq, visibleFromSeq - 1, firstSeq - 1);
}

/**
 * Counts the messages after a member's marker that somebody else has written and that are not deleted. Only those after the
 * marker that do not count are looked up, and only if the head and the member say that there may be any.
 */
export async function countUnread({ messages }: CountParts, head: HeadCounts, member: Marker): Promise<number> {
  const from = readThrough(head, member);
  const all = head.lastSeq - from;
  if (all <= 0) return 0;
  const seq = { gt: from, lte: head.lastSeq };
  const conversationId = head.id;
  const [uncounted, own] = await Promise.all([
    head.lastUncountedSeq > from ? messages.count({ conversationId, uncountedSeq: seq }) : 0,
    member.lastOwnSeq > from
      ? messages.count({ conversationId, authorId: member.principalId, seq, uncountedSeq: { exists: false } })
      : 0,
  ]);
  return all - uncounted - own;
}

/** Counts the unread messages that mention a member. */
export async function countMentions({ mentions }: CountParts, head: HeadCounts, member: Marker): Promise<number> {
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

/** Rounds in which a count that messages were removed under is made again. */
const MAX_ROUNDS = 10;

/**
 * Makes a count over several reads that is true of one moment: if messages were deleted or removed meanwhile, it is made
 * again. Messages that were sent meanwhile do not matter, since the count ends at the head's latest number. `member` is
 * read after the head, so that it knows of every own message that the head counts.
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
    // A marker behind the latest message is of a later moment than the head.
    const isSteady = after?.epoch === head.epoch && member.lastReadSeq <= head.lastSeq;
    if (after === undefined || isSteady || round === MAX_ROUNDS) return { head, member, counted };
  }
}

/** Records that one query reads: a person may be in thousands of conversations, and others wait meanwhile. */
const CHUNK = 200;

/** Returns all active memberships of a person. */
export async function membershipsOf(
  members: Collection<MemberRecord>,
  userId: string,
  breathe: Breathe,
): Promise<MemberRecord[]> {
  const all: MemberRecord[] = [];
  for (let after: Scalar[] | undefined; ; await breathe()) {
    const where = { principalId: userId, isActive: true };
    const page = await members.find({ where, limit: CHUNK, ...(after && { after }) });
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < CHUNK) return all;
    after = [last.id];
  }
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

/** Returns whether a member has muted a conversation at a time. */
export function isMutedAt({ isMuted, mutedUntil }: Pick<MemberRecord, 'isMuted' | 'mutedUntil'>, now: number): boolean {
  return isMuted && (mutedUntil === undefined || Date.parse(mutedUntil) > now);
}

/** Counts of all of a person's conversations that have unread messages, by conversation. */
export type UnreadByConversation = ReadonlyMap<string, number>;

/** Milliseconds after which a message that was sent is committed or was given up, whatever the clocks of processes say. */
const SETTLED_MS = 60_000;

/** What was read of a person's conversations: first the memberships, from `readAt` on, and then the heads. */
export interface ReadConversations {
  readonly memberships: readonly MemberRecord[];
  readonly heads: ReadonlyMap<string, HeadRecord>;
  /** Epoch milliseconds. */
  readonly readAt: number;
}

/**
 * Counts the unread messages in each of a person's conversations. Those that were read to the end, and those in which
 * nothing was sent or removed lately, cost no further read, most of the others a share of one, and those with deleted or own
 * messages after the marker a few.
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
  // A message of one's own moves the marker in the commit that changes the head, so that a membership which was read before
  // a head that has changed since is of another moment.
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
    await Promise.all(
      unclear.slice(at, at + COUNTED_AT_ONCE).map(async ({ conversationId, principalId }) => {
        const steady = await countSteadily(parts, conversationId, principalId, (head, member) =>
          countUnread(parts, head, member),
        );
        if (steady !== undefined && steady.counted > 0) counts.set(conversationId, steady.counted);
      }),
    );
    await breathe();
  }
  return counts;
}

const COUNTED_AT_ONCE = 20;

/** Returns the head and the member as a unit of work would leave them. */
export async function stateIn(
  parts: CountParts,
  work: UnitOfWork,
  conversationId: string,
  userId: string,
): Promise<{ readonly head: HeadRecord | undefined; readonly member: MemberRecord | undefined }> {
  const head = await work.get(parts.heads, conversationId);
  const member = await work.get(parts.members, memberId(conversationId, userId));
  return { head, member };
}
