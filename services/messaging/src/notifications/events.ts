import type { EventBus, Subscription } from '@commonplace/kit/events';
import { SOURCES } from '../domain/sources.js';
import { takeIn, type WriteParts } from './write.js';

/** Subscribes to the events that people are notified of. */
export function watchEvents(parts: WriteParts, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'messaging.notifications', types: Object.keys(SOURCES) };
  return bus.subscribe(options, async (events) => {
    for (const event of events) await takeIn(parts, event);
  });
}
