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

/** Records that one unit deletes. */
const CHUNK = 500;

/** What people were told of an Org goes with it. */
export function watchPurges(parts: Parts, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'messaging.purges', types: ['commonplace.tenancy.org.purged'] };
  return bus.subscribe(options, async (events) => {
    for (const { tenant } of events) if (tenant !== undefined) await forget(parts, tenant);
  });
}

async function forget({ store, notifications }: Parts, tenant: string): Promise<void> {
  for (;;) {
    const found = await notifications.find({ where: { tenant }, limit: CHUNK });
    if (found.length === 0) return;
    const work = store.begin();
    for (const one of found) work.remove(notifications, one);
    await work.commit();
  }
}
