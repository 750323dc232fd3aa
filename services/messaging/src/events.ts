import type { EventBus, Subscription } from '@commonplace/kit/events';
import { takeIn } from './acts/write.js';
import { SOURCES } from './domain/sources.js';
import type { Parts } from './parts.js';

/** Tells people what happens. */
export function watchEvents(parts: Parts, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'messaging.notifications', types: Object.keys(SOURCES) };
  return bus.subscribe(options, async (events) => {
    for (const event of events) await takeIn(parts, event);
  });
}
