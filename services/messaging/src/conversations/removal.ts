import { openQueue, type Queue } from '@commonplace/kit/jobs';
import type { Collection, StoredRecord, UnitOfWork, Where } from '@commonplace/kit/store';
import { inWork } from '@commonplace/kit/store';
import { conversationEvent, type MakeEvent } from './events.js';
import type { ConversationParts } from './parts.js';
import { type ConversationRecord, type HeadRecord, type RemovalRecord, removalQueue } from './records.js';

type RemovalParts = Pick<
  ConversationParts,
  'conversations' | 'heads' | 'members' | 'messages' | 'mentions' | 'receipts' | 'store' | 'log'
>;

/** Number of records that one unit of work removes. */
const CHUNK = 200;
/** Maximum number of people that one event names; it keeps the event below 20 KB. */
const NAMED = 400;

/**
 * Deletes a conversation in a unit of work. It disappears for everyone at once; a job removes its messages afterwards.
 * Publishes events that together name each of the people.
 */
export function deleteConversation(
  { conversations, heads, removals, now }: Pick<ConversationParts, 'conversations' | 'heads' | 'removals' | 'now'>,
  work: UnitOfWork,
  make: MakeEvent,
  { conversation, head }: { readonly conversation: ConversationRecord; readonly head: HeadRecord },
  userIds: readonly string[],
): void {
  work.remove(conversations, conversation);
  work.remove(heads, head);
  const { id, tenant } = conversation;
  work.insert(removals, { id, tenant, dueAt: new Date(now()).toISOString() });
  for (let at = 0; at === 0 || at < userIds.length; at += NAMED) {
    work.publish(conversationEvent(make, conversation, ['deleted'], userIds.slice(at, at + NAMED)));
  }
}

/** Opens the queue that removes the remaining records of deleted conversations. */
export function openRemovalQueue(parts: RemovalParts): Promise<Queue<RemovalRecord>> {
  const { store, log } = parts;
  return openQueue<RemovalRecord>({
    ...{ store, log, spec: removalQueue, concurrency: 2 },
    async run(job) {
      const conversationId = job.record.id;
      const all = [parts.members, parts.messages, parts.mentions, parts.receipts];
      for (const records of all as unknown as Collection<StoredRecord>[]) {
        for (;;) {
          const where = { conversationId } as Where<StoredRecord>;
          const found = await records.find({ where, anyOrder: true, limit: CHUNK });
          await inWork(store, async (work) => {
            for (const record of found) work.remove(records, record);
          });
          if (found.length < CHUNK) break;
        }
      }
      await job.remove();
    },
  });
}
