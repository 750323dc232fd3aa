import type { DomainEvent, Subscription } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import { LRUCache } from 'lru-cache';
import type { Connection } from './connection.js';
import { calling } from './errors.js';
import { disjoint, type Names } from './names.js';

/** Number of ids that a watcher remembers, so that it reports an event that is published again only once. */
const MAX_SEEN_IDS = 2000;

/** Reports events as they are published, without a durable position. */
export function openWatch(
  connection: Connection,
  names: Names,
  types: readonly string[],
  handler: (event: DomainEvent) => void,
  log: Log,
): Promise<Subscription> {
  const seenIds = new LRUCache<string, true>({ max: MAX_SEEN_IDS });
  const deliver = (payload: string): void => {
    try {
      const event = JSON.parse(payload) as DomainEvent;
      if (seenIds.has(event.id)) return;
      seenIds.set(event.id, true);
      handler(event);
    } catch (error) {
      log.warn('events.watcher_failed', { types, error });
    }
  };
  return calling(async () => {
    const { nc } = await connection.link();
    const subscriptions = disjoint(types).map((pattern) =>
      nc.subscribe(names.subject(pattern), {
        callback: (error, message) => {
          if (error === null) deliver(message.string());
          else log.warn('events.watcher_failed', { types, error });
        },
      }),
    );
    // Once the server has answered, no later event is missed.
    await nc.flush();
    return {
      close: async () => {
        for (const subscription of subscriptions) subscription.unsubscribe();
      },
    };
  });
}
