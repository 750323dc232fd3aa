import type { EventBus, Subscription } from '@commonplace/kit/events';
import { type Collection, removeAll, type Store, type StoredRecord } from '@commonplace/kit/store';
import { consume } from '@commonplace/platform/events';
import type { AuditRecord } from './audit/records.js';
import type { ConversationRecords } from './conversations/parts.js';
import type { Notification } from './notifications/records.js';

interface PurgeParts extends ConversationRecords {
  readonly store: Store;
  readonly notifications: Collection<Notification>;
  readonly auditEvents: Collection<AuditRecord>;
  /** The collections of the event streams. */
  readonly streamed: readonly Collection<StoredRecord>[];
}

/** Deletes the notifications, conversations, kept events and audit log of an Org that has been purged. */
export function watchPurges(parts: PurgeParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'messaging.purges', events: ['tenancy.org.purged'] } as const;
  // Conversations are deleted first, so that no message is added to one whose messages were deleted.
  const { conversations, heads, members, retentions, removals, mentionRuns, messages, mentions, receipts } = parts;
  const all = [conversations, heads, members, retentions, removals, mentionRuns, messages, mentions, receipts];
  return consume(bus, spec, async ({ tenant }) => {
    if (tenant === undefined) return;
    for (const records of [...all, parts.notifications, parts.auditEvents, ...parts.streamed]) {
      await removeAll(parts.store, records as unknown as Collection<StoredRecord>, { tenant });
    }
  });
}
