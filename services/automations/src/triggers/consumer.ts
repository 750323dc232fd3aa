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

/** Events that one call of the handler gets. */
const BATCH = 100;

/**
 * Subscribes to the events that automations start at. One process handles them, in the order in which the bus has them:
 * that of their commits for one resource, and for one store.
 */
export function watchTriggers(parts: ConsumerParts, bus: EventBus): Promise<Subscription> {
  const options = {
    ...{ consumer: 'automations.triggers', types: BUS_TYPES, batch: BATCH },
    // What happened before there were automations starts none.
    from: 'now',
  } as const;
  return bus.subscribe(options, (events) => handleEvents(parts, events));
}

/** Starts the runs of events, once for each automation and event, however often they arrive. */
export async function handleEvents(parts: ConsumerParts, events: readonly DomainEvent[]): Promise<void> {
  const told = events.flatMap((event) => triggerEventOf(event) ?? []);
  if (told.length === 0) return;
  // Asked for once for the whole batch; what follows finds the answer remembered.
  const candidates = await candidatesOf(parts, told);
  const started = new Set<TriggerEvent>(candidates.map(({ event }) => event));
  for (const event of started) {
    if (event.type === 'content.updated') await awaitTurn(parts, parts.turns, event);
  }
  await startRuns(
    parts,
    [...started].filter(({ type }) => type !== 'content.updated'),
  );
}
