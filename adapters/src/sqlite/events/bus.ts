import { Unavailable } from '@commonplace/kit/errors';
import type { EventBus, Subscription } from '@commonplace/kit/events';
import { observeConsumer, observeHandler } from '../../events/telemetry.js';
import type { EventHub, Watcher } from './hub.js';
import {
  countParked,
  countWaiting,
  dropParkedStep,
  readConsumers,
  readParked,
  readParkedConsumers,
  readPlace,
  unparkStep,
} from './log.js';

/** Creates a bus over the log of a database. Several may be open; each closes what it opened. */
export function createSqliteBus(hub: EventHub): EventBus {
  const open = new Set<Subscription>();
  let closed = false;

  function keep(close: () => Promise<void>): Subscription {
    const subscription = {
      close: async () => {
        open.delete(subscription);
        await close();
      },
    };
    open.add(subscription);
    return subscription;
  }

  function checkOpen(): void {
    if (closed) throw Unavailable({}, { cause: new Error('the bus is closed') });
  }

  const bus: EventBus = {
    async publish(events) {
      checkOpen();
      if (events.length > 0) await hub.commit([], events);
    },
    async subscribe(options, handler) {
      checkOpen();
      const subscription = await hub.subscribe(options, observeHandler('sqlite', options, handler));
      const unobserve = observeConsumer(options.consumer, {
        lag: () => bus.lag(options.consumer),
        parked: () => bus.parkedCount(options.consumer),
      });
      return keep(() => {
        unobserve();
        return subscription.close();
      });
    },
    async watch(types, handler) {
      checkOpen();
      const watcher: Watcher = { types, handler };
      hub.watchers.add(watcher);
      return keep(async () => void hub.watchers.delete(watcher));
    },
    broadcast(topic, text) {
      for (const handler of hub.listeners.get(topic) ?? []) {
        queueMicrotask(() => {
          try {
            handler(text);
          } catch (error) {
            hub.log.error('events.listener_failed', { topic, error });
          }
        });
      }
    },
    async listen(topic, handler) {
      checkOpen();
      // Each listener needs a function of its own, because two listeners may share a handler.
      const own = (text: string) => handler(text);
      const listeners = hub.listeners.get(topic) ?? new Set();
      hub.listeners.set(topic, listeners.add(own));
      return keep(async () => {
        listeners.delete(own);
        if (listeners.size === 0 && hub.listeners.get(topic) === listeners) hub.listeners.delete(topic);
      });
    },
    async lag(name) {
      const place = hub.consumers.get(name)?.place ?? readPlace(hub.reader, name);
      return place === undefined ? 0 : countWaiting(hub.reader, name, place);
    },
    async consumers() {
      return readConsumers(hub.reader);
    },
    async parkedConsumers() {
      return readParkedConsumers(hub.reader);
    },
    async parked(name) {
      return readParked(hub.reader, name);
    },
    async parkedCount(name) {
      return countParked(hub.reader, name);
    },
    async unpark(name, eventIds) {
      const [count] = await hub.queue.commit([unparkStep(name, eventIds)]);
      hub.consumers.get(name)?.wake();
      return count ?? 0;
    },
    async dropParked(name, eventIds) {
      const [count] = await hub.queue.commit([dropParkedStep(name, eventIds)]);
      return count ?? 0;
    },
    async close() {
      closed = true;
      await Promise.all([...open].map((subscription) => subscription.close()));
    },
  };
  return bus;
}
