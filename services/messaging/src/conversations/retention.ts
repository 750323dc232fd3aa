import { createEvent, systemActor } from '@commonplace/kit/events';
import { openQueue, type Queue } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { inWork } from '@commonplace/kit/store';
import { conversationEvent, type MakeEvent } from './events.js';
import type { ConversationParts } from './parts.js';
import { type ConversationRecord, type RetentionRecord, retentionQueue } from './records.js';

const DAY_MS = 24 * 3600 * 1000;
/** Number of messages that one unit of work removes. */
const CHUNK = 200;
/** Longest pause between two rounds of a conversation, in case a message expires earlier than expected. */
const MAX_PAUSE_MS = 6 * 3600 * 1000;
const MIN_PAUSE_MS = 1000;

type RetentionParts = Pick<
  ConversationParts,
  'conversations' | 'heads' | 'messages' | 'mentions' | 'store' | 'log' | 'now'
>;

/** Schedules the removal of expired messages, in the unit of work that changes the setting of a conversation. */
export async function scheduleRetention(
  { retentions, now }: Pick<ConversationParts, 'retentions' | 'now'>,
  work: UnitOfWork,
  { id, tenant, retentionDays }: ConversationRecord,
): Promise<void> {
  if (retentionDays === undefined) return;
  const dueAt = new Date(now()).toISOString();
  const known = await work.get(retentions, id);
  if (known === undefined) work.insert(retentions, { id, tenant, dueAt });
  else work.replace(retentions, known, { ...known, dueAt });
}

/** Creates an event whose actor is the system, for background work. */
export const systemEvent: MakeEvent = (type, subject, data, tenant) =>
  createEvent({ service: 'messaging', type, subject, data, tenant, actor: systemActor('messaging') });

/**
 * Removes the expired messages of a conversation, beginning with the oldest. Returns in epoch milliseconds when the
 * next one expires, Infinity if there are no messages, and undefined if the conversation keeps its messages forever or
 * no longer exists.
 */
export async function removeExpired(parts: RetentionParts, conversationId: string): Promise<number | undefined> {
  for (;;) {
    const next = await inWork(parts.store, (work) => removeChunk(parts, work, conversationId));
    if (next !== 'more') return next;
  }
}

async function removeChunk(
  { conversations, heads, messages, mentions, now }: RetentionParts,
  work: UnitOfWork,
  conversationId: string,
): Promise<number | undefined | 'more'> {
  const [conversation, head] = await Promise.all([conversations.get(conversationId), heads.get(conversationId)]);
  if (conversation?.retentionDays === undefined || head === undefined) return undefined;
  const keptMs = conversation.retentionDays * DAY_MS;
  const cutoff = new Date(now() - keptMs).toISOString();
  const oldest = await messages.find({ where: { conversationId }, sort: ['seq'], limit: CHUNK });
  const kept = oldest.findIndex(({ createdAt }) => createdAt >= cutoff);
  const expired = kept < 0 ? oldest : oldest.slice(0, kept);
  const last = expired.at(-1);
  if (last === undefined) {
    const [first] = oldest;
    return first === undefined ? Number.POSITIVE_INFINITY : Date.parse(first.createdAt) + keptMs;
  }
  // The setting may change, or messages may be deleted, at the same time; the commit then fails and is repeated.
  work.expect(conversations, conversation);
  for (const message of expired) work.remove(messages, message);
  const gone = await mentions.find({
    where: { messageId: { in: expired.filter((one) => one.mentions.length > 0).map(({ id }) => id) } },
    limit: CHUNK * 100,
  });
  for (const mention of gone) work.remove(mentions, mention);
  const { lastMessageId, ...rest } = head;
  work.replace(heads, head, {
    ...rest,
    ...(last.seq < head.lastSeq && { lastMessageId }),
    firstSeq: last.seq + 1,
    deletedCount: head.deletedCount - expired.filter(({ deletedSeq }) => deletedSeq !== undefined).length,
    epoch: head.epoch + 1,
  });
  work.publish(conversationEvent(systemEvent, conversation, ['first_seq']));
  return 'more';
}

/** Opens the queue that removes expired messages. */
export function openRetentionQueue(parts: RetentionParts): Promise<Queue<RetentionRecord>> {
  const { store, log, now } = parts;
  return openQueue<RetentionRecord>({
    ...{ store, log, spec: retentionQueue, concurrency: 2, now },
    async run(job) {
      const next = await removeExpired(parts, job.record.id);
      if (next === undefined) return job.remove();
      await job.retryIn(Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, next - now() + 1)));
    },
  });
}
