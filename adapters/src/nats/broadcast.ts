import type { EventBus } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { Connection } from './connection.js';
import { calling } from './errors.js';
import type { Names } from './names.js';

/** Creates broadcasts over core NATS, which stores nothing. */
export function createBroadcasts(
  connection: Connection,
  names: Names,
  log: Log,
): Pick<EventBus, 'broadcast' | 'listen'> {
  return {
    broadcast(topic, text) {
      // Broadcasts are lost while the broker is unreachable; listeners poll the records from time to time.
      connection
        .link()
        .then(({ nc }) => nc.publish(names.broadcast(topic), text))
        .catch(() => {});
    },
    listen: (topic, handler) =>
      calling(async () => {
        const { nc } = await connection.link();
        const subscription = nc.subscribe(names.broadcast(topic), {
          callback: (error, message) => {
            try {
              if (error === null) handler(message.string());
              else throw error;
            } catch (failure) {
              log.warn('events.listener_failed', { topic, error: failure });
            }
          },
        });
        // Once the server has answered, no later text is missed. While the connection is lost nobody is refused: listeners
        // poll, and the client sends its subscriptions again when it has reconnected.
        await nc.flush().catch(() => {});
        return { close: async () => subscription.unsubscribe() };
      }),
  };
}
