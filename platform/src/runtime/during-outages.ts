import { isPassing } from '@commonplace/kit/errors';
import { type Dependency, type EventBus, untilAvailable } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';

/**
 * Wraps a bus so that events which fail while the store is unavailable wait for it, however long that takes, and are not
 * parked for it.
 */
export function waitingFor<Bus extends EventBus>(store: Dependency, bus: Bus, log: Log, retryMs?: number): Bus {
  return {
    ...bus,
    subscribe: async (options, handler) => {
      const closing = new AbortController();
      const waiting = { log, signal: closing.signal, ...(retryMs !== undefined && { retryMs }) };
      const subscription = await bus.subscribe(options, async (events) => {
        try {
          await handler(events);
        } catch (error) {
          if (isPassing(error)) await untilAvailable(store, waiting);
          throw error;
        }
      });
      return {
        close: () => {
          closing.abort();
          return subscription.close();
        },
      };
    },
  };
}
