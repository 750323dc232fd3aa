import { type Log, silentLog } from '../../log/index.js';
import { observeConsumer, observeHandler } from '../../telemetry/messaging.js';
import type { TracedBus } from '../outbox.js';
import type { Subscription } from '../port.js';
import { openConnection } from './connection.js';
import { calling, ifThere } from './errors.js';
import { createNames } from './names.js';
import { createParking } from './parking.js';
import { createPublisher } from './publisher.js';
import { openSubscription } from './subscription.js';
import { openWatch } from './watch.js';

export interface NatsOptions {
  /** `nats://…`, several separated by commas. */
  readonly url: string;
  readonly log?: Log;
  /** The stream that keeps the events; `COMMONPLACE` when absent. */
  readonly stream?: string;
  /** Copies of each stream, when they are made; 1 when absent. */
  readonly replicas?: number;
  /** Milliseconds of silence after which an instance is taken for dead, 4000 or more; 15,000 when absent. */
  readonly silenceMs?: number;
}

/**
 * Connects to NATS (2.11 or later) with JetStream. Resolves when connected, or after 5 seconds
 * without: it goes on trying, and calls reject with Unavailable until there is a connection.
 */
export async function openNatsBus(options: NatsOptions): Promise<TracedBus> {
  const { url, log = silentLog, stream, replicas = 1, silenceMs = 15_000 } = options;
  const names = createNames(stream);
  const connection = openConnection(url, names, replicas, log);
  const publisher = createPublisher(connection, names, replicas);
  const parking = createParking(connection, names);
  const open = new Set<Subscription>();
  const remember = async (opening: Promise<Subscription>, consumer?: string): Promise<Subscription> => {
    const subscription = await opening;
    open.add(subscription);
    const facts = (name: string) => ({ lag: () => bus.lag(name), parked: () => bus.parkedCount(name) });
    const unobserve = consumer === undefined ? () => {} : observeConsumer(consumer, facts(consumer));
    return {
      close: async () => {
        unobserve();
        await subscription.close();
        open.delete(subscription);
      },
    };
  };
  await connection.link().catch(() => {});
  const bus: TracedBus = {
    publish: async (events) => {
      await publisher.publish(events);
    },
    publishTraced: publisher.publish,
    holds: publisher.holds,
    onReconnect: connection.onReconnect,
    subscribe: (wanted, given) => {
      const handler = observeHandler('nats', wanted, given);
      const parts = { connection, names, parking, replicas, silenceMs, log };
      return remember(openSubscription({ ...parts, options: wanted, handler }), wanted.consumer);
    },
    watch: (types, handler) => remember(openWatch(connection, names, types, handler, log)),
    lag: (consumer) =>
      calling(async () => {
        const { jsm } = await connection.link();
        const info = await ifThere(jsm.consumers.info(names.stream, names.durable(consumer)));
        return info === undefined ? 0 : info.num_pending + info.num_ack_pending;
      }),
    parked: parking.list,
    parkedCount: parking.count,
    unpark: parking.unpark,
    close: async () => {
      await Promise.all([...open].map((subscription) => subscription.close()));
      await connection.close();
    },
  };
  return bus;
}
