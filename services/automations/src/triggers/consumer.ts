import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';
import type { Collection, Store } from '@commonplace/kit/store';
import { awaitTurn } from './contents.js';
import type { ContentTurnRecord } from './records.js';
import { candidatesOf, type StartParts, startRuns } from './start-runs.js';
import { BUS_TYPES, type TriggerEvent, triggerEventOf } from './trigger-event.js';

interface ConsumerParts extends StartParts {
  readonly store: Store;
  readonly turns: Collection<ContentTurnRecord>;
}

/** Maximum number of events in one call of the handler. */
const BATCH = 100;

/**
 * Subscribes to the events that start automations. One process handles them, in the order of the bus, which for one
 * resource and one store is the order of commits.
 */
export function watchTriggers(parts: ConsumerParts, bus: EventBus): Promise<Subscription> {
  const options = {
    ...{ consumer: 'automations.triggers', types: BUS_TYPES, batch: BATCH },
    // Events from before the first start of this consumer start nothing.
    from: 'now',
  } as const;
  return bus.subscribe(options, (events) => handleEvents(parts, events));
}

/** Starts the runs for events, once for each automation and event, however often an event arrives. */
export async function handleEvents(parts: ConsumerParts, events: readonly DomainEvent[]): Promise<void> {
  const triggerEvents = events.flatMap((event) => triggerEventOf(event) ?? []);
  if (triggerEvents.length === 0) return;
  // One query for the whole batch; later lookups hit the cache.
  const candidates = await candidatesOf(parts, triggerEvents);
  const started = new Set<TriggerEvent>(candidates.map(({ event }) => event));
  for (const event of started) {
    if (event.type === 'content.updated') await awaitTurn(parts, parts.turns, event);
  }
  await startRuns(
    parts,
    [...started].filter(({ type }) => type !== 'content.updated'),
  );
}
