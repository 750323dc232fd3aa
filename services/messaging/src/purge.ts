import type { EventBus, Subscription } from '@commonplace/kit/events';
import { type Collection, inWork, type Store, type StoredRecord, type Where } from '@commonplace/kit/store';
import type { AuditRecord } from './audit/records.js';
import type { ConversationRecords } from './conversations/parts.js';
import type { Notification } from './notifications/records.js';

export interface PurgeParts extends ConversationRecords {
  readonly store: Store;
  readonly notifications: Collection<Notification>;
  readonly auditEvents: Collection<AuditRecord>;
  /** What streams keep of events. */
  readonly streamed: readonly Collection<StoredRecord>[];
}

/** Number of records that one unit of work deletes. */
const CHUNK = 500;

/** Deletes the notifications, conversations, kept events and audit log of an Org that has been purged. */
export function watchPurges(parts: PurgeParts, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'messaging.purges', types: ['commonplace.tenancy.org.purged'] };
  // Conversations first, so that nothing is added to those whose messages are gone.
  const { conversations, heads, members, retentions, removals, mentionRuns, messages, mentions, receipts } = parts;
  const all = [conversations, heads, members, retentions, removals, mentionRuns, messages, mentions, receipts];
  return bus.subscribe(options, async (events) => {
    for (const { tenant } of events) {
      if (tenant === undefined) continue;
      for (const records of [...all, parts.notifications, parts.auditEvents, ...parts.streamed]) {
        await forget(parts.store, records as unknown as Collection<StoredRecord>, tenant);
      }
    }
  });
}

async function forget(store: Store, records: Collection<StoredRecord>, tenant: string): Promise<void> {
  for (;;) {
    const where: Where<StoredRecord> = { tenant };
    const left = await inWork(store, async (work) => {
      const found = await records.find({ where, limit: CHUNK });
      for (const one of found) work.remove(records, one);
      return found.length;
    });
    if (left < CHUNK) return;
  }
}
