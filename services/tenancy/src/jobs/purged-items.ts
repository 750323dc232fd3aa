import type { EventBus, Subscription } from '@commonplace/kit/events';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import type { Parts } from '../parts.js';

/** Number of items that one query looks for. */
const CHUNK = 200;

/** The events that announce that an item was deleted for good. */
const EVENTS = [
  'agents.agent.deleted',
  'agents.chat_session.deleted',
  'automations.automation.deleted',
  'messaging.conversation.updated',
  'resources.resource.purged',
] as const;

/**
 * Removes the pins of items that were deleted for good from all lists, where no one would see them but they would count
 * towards the limit.
 */
export function watchPurgedItems(parts: Parts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'tenancy.purged-items', events: EVENTS } as const;
  return consume(bus, spec, (event) => unpin(parts, goneWith(event)));
}

/** Returns the ids of the items that are gone. */
function goneWith(event: TypedEvent<(typeof EVENTS)[number]>): readonly string[] {
  if (event.name === 'resources.resource.purged') return event.data.resourceIds;
  const isKept = event.name === 'messaging.conversation.updated' && !event.data.changedFields.includes('deleted');
  return isKept ? [] : [event.subject];
}

/** What removes pins of items that were purged. */
const BY_SYSTEM = { type: 'system', id: 'tenancy', name: 'tenancy' } as const;

async function unpin({ store, pinLists, now }: Parts, gone: readonly string[]): Promise<void> {
  for (let from = 0; from < gone.length; from += CHUNK) {
    const chunk = new Set(gone.slice(from, from + CHUNK));
    const lists = await pinLists.withItems([...chunk]);
    if (lists.length === 0) continue;
    const work = store.begin();
    for (const list of lists) {
      const pins = list.pins.filter(({ itemId }) => !chunk.has(itemId));
      const itemIds = pins.map(({ itemId }) => itemId);
      work.replace(pinLists.records, list, { ...list, pins, itemIds, updatedBy: BY_SYSTEM, updatedAt: now() });
    }
    await work.commit();
  }
}
