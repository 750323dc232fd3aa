import type { EventBus, Subscription } from '@commonplace/kit/events';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import type { Parts } from '../parts.js';
import type { PinEntry, PinList } from '../stores/pins.js';

/** Number of items that one query looks for. */
const CHUNK = 200;

/** The events that announce that an item was deleted for good, or has left a workspace. */
const EVENTS = [
  'agents.agent.deleted',
  'agents.agent.updated',
  'agents.chat_session.deleted',
  'automations.automation.deleted',
  'messaging.conversation.updated',
  'resources.resource.moved',
  'resources.resource.purged',
] as const;

/**
 * Removes the pins of items that were deleted for good from all lists, and of items that have left a workspace from its
 * lists. There, no one would see them but they would count towards the limit.
 */
export function watchPurgedItems(parts: Parts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'tenancy.purged-items', events: EVENTS } as const;
  return consume(bus, spec, (event) => unpin(parts, endedBy(event)));
}

/** Items, and which of their pins end. */
interface Ended {
  readonly itemIds: readonly string[];
  /** All of them, when absent. */
  readonly ends?: (list: PinList, pin: PinEntry) => boolean;
}

const NONE: Ended = { itemIds: [] };

function endedBy(event: TypedEvent<(typeof EVENTS)[number]>): Ended {
  // The item may have come back before the event arrives.
  const isOlder = ({ createdAt }: PinEntry) => createdAt <= event.time;
  switch (event.name) {
    case 'resources.resource.purged':
      return { itemIds: event.data.resourceIds };
    case 'resources.resource.moved': {
      const { resourceIds: itemIds, workspaceId } = event.data;
      return { itemIds, ends: (list, pin) => list.workspaceId !== workspaceId && isOlder(pin) };
    }
    case 'agents.agent.updated': {
      const left = event.data.leftWorkspaceIds;
      if (left.length === 0) return NONE;
      return { itemIds: [event.subject], ends: (list, pin) => left.includes(list.workspaceId) && isOlder(pin) };
    }
    case 'messaging.conversation.updated':
      return event.data.changedFields.includes('deleted') ? { itemIds: [event.subject] } : NONE;
    default:
      return { itemIds: [event.subject] };
  }
}

/** What removes pins of items that are gone. */
const BY_SYSTEM = { type: 'system', id: 'tenancy', name: 'tenancy' } as const;

async function unpin({ store, pinLists, now }: Parts, { itemIds: gone, ends = () => true }: Ended): Promise<void> {
  for (let from = 0; from < gone.length; from += CHUNK) {
    const chunk = new Set(gone.slice(from, from + CHUNK));
    const lists = await pinLists.withItems([...chunk]);
    if (lists.length === 0) continue;
    const work = store.begin();
    for (const list of lists) {
      const pins = list.pins.filter((pin) => !(chunk.has(pin.itemId) && ends(list, pin)));
      if (pins.length === list.pins.length) continue;
      const itemIds = pins.map(({ itemId }) => itemId);
      work.replace(pinLists.records, list, { ...list, pins, itemIds, updatedBy: BY_SYSTEM, updatedAt: now() });
    }
    await work.commit();
  }
}
