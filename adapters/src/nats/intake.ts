import type { DomainEvent, SubscribeOptions } from '@commonplace/kit/events';
import { createWakeSignal } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import { AckPolicy, type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Connection, Link } from './connection.js';
import { ifThere } from './errors.js';
import { disjoint, type Names } from './names.js';
import { createQueue, type Queue } from './queue.js';
import { GROUP, openTakeover } from './takeover.js';

/**
 * Milliseconds that a request for events stays open, and the shortest time that the client allows. A heartbeat comes
 * after half of it.
 */
const [REQUEST_MS, MIN_REQUEST_MS] = [5000, 1000];

/**
 * Reads the events of a durable consumer. The server pins one of all instances and delivers to it alone, so the order
 * of a subject is the order of this instance's queue. An instance that takes over begins once the unfinished events of
 * its predecessor have been delivered to it.
 */
interface Intake {
  readonly queue: Queue;
  /** Resolves once the consumer exists, at once before the first connection, or after a while without the broker. */
  readonly ready: Promise<void>;
  /** Returns whether this instance leads and has received all events that precede those in its queue. */
  settled(): Promise<boolean>;
  /** Stops taking events. The caller must give back the events in the queue. */
  stop(): Promise<void>;
  /**
   * Hands the lead to another instance at once, if no event is in work. `givenBack` is the number of events that were
   * given back.
   */
  resign(givenBack: number): Promise<void>;
}

export interface IntakeOptions {
  readonly connection: Connection;
  readonly names: Names;
  readonly options: SubscribeOptions;
  /**
   * Milliseconds after which the server redelivers unacknowledged events. After half of that, another instance takes
   * the lead if it has not detected the failure earlier.
   */
  readonly silenceMs: number;
  /** Is called when there are new events in the queue. */
  readonly arrived: () => void;
  readonly log: Log;
}

export function openIntake(given: IntakeOptions): Intake {
  const { connection, names, options, silenceMs, arrived, log } = given;
  const queue = createQueue();
  const durable = names.durable(options.consumer);
  const window = Math.max(64, 4 * (options.batch ?? 1));
  const expires = Math.max(MIN_REQUEST_MS, Math.min(REQUEST_MS, silenceMs / 3));
  const pause = createWakeSignal();
  const takeover = openTakeover({ connection, names, consumer: options.consumer, silenceMs, log });
  let pin: string | undefined;
  let certain = false;
  let stopped = false;
  let known = false;
  let messages: ConsumerMessages | undefined;
  let begun = (): void => {};
  const ready = new Promise<void>((resolve) => {
    begun = resolve;
    if (!connection.isLinked) return resolve();
    setTimeout(resolve, 5000).unref();
  });

  const take = (message: JsMsg): void => {
    const event = parseEvent(message);
    if (event === undefined) {
      log.error('events.unreadable', { subject: message.subject, seq: message.seq });
      message.term('not an event');
      return;
    }
    const current = message.headers?.get('Nats-Pin-Id') || undefined;
    if (current !== pin) {
      // Events that were delivered to an earlier lead may be in work elsewhere by now.
      queue.clear();
      pin = current;
      takeover.lead(pin);
      certain = false;
    }
    queue.add(message, event);
    arrived();
  };
  const consume = async (): Promise<void> => {
    const link = await connection.link();
    await link.ensureStreams();
    // A consumer that existed before and is missing was lost with its stream: everything that the stream holds may be
    // new to it.
    await ensureConsumer(link, given, window, known ? 'start' : (options.from ?? 'start'));
    known = true;
    const consumer = await link.js.consumers.get(names.stream, durable);
    if (stopped) return;
    messages = await consumer.consume({
      group: GROUP,
      max_messages: window,
      expires,
      idle_heartbeat: expires / 2,
      abort_on_missing_resource: true,
      callback: take,
    });
    begun();
    const end = await messages.closed();
    if (!stopped && end instanceof Error) throw end;
  };
  const running = (async (): Promise<void> => {
    while (!stopped) {
      try {
        await consume();
      } catch (error) {
        if (stopped) return;
        log.warn('events.interrupted', { consumer: options.consumer, error });
        queue.clear();
        pin = undefined;
        takeover.lead(undefined);
        await pause.sleep(500);
      }
    }
  })();
  return {
    queue,
    ready,
    settled: async () => {
      if (certain) return true;
      if (pin === undefined) return false;
      const [mine, size] = [pin, queue.size];
      const { jsm } = await connection.link();
      const info = await jsm.consumers.info(names.stream, durable);
      certain = mine === pin && size >= info.num_ack_pending;
      return certain;
    },
    stop: async () => {
      stopped = true;
      messages?.stop();
      pause.close();
      await running;
    },
    resign: takeover.resign,
  };
}

function parseEvent(message: JsMsg): DomainEvent | undefined {
  try {
    const event = message.json<DomainEvent>();
    return typeof event.id === 'string' && typeof event.subject === 'string' ? event : undefined;
  } catch {
    return undefined;
  }
}

/** Creates a durable consumer, or updates its filter. */
async function ensureConsumer(
  { jsm }: Link,
  { names, options: { consumer, types }, silenceMs }: IntakeOptions,
  window: number,
  from: 'start' | 'now',
): Promise<void> {
  const durable = names.durable(consumer);
  const changeable = {
    // The durable name of a consumer can be a hash; operators see this one.
    description: consumer,
    filter_subjects: [...disjoint(types).map(names.subject), names.again(consumer)].sort(),
    max_ack_pending: window,
    ack_wait: nanos(silenceMs),
  };
  const info = await ifThere(jsm.consumers.info(names.stream, durable));
  if (info === undefined) {
    await jsm.consumers.add(names.stream, {
      ...changeable,
      durable_name: durable,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: from === 'now' ? DeliverPolicy.New : DeliverPolicy.All,
      priority_policy: 'pinned_client',
      priority_groups: [GROUP],
      priority_timeout: nanos(silenceMs / 2),
    });
    return;
  }
  const { description, filter_subjects, max_ack_pending, ack_wait } = info.config;
  const now = { description, filter_subjects: [...(filter_subjects ?? [])].sort(), max_ack_pending, ack_wait };
  if (JSON.stringify(now) !== JSON.stringify(changeable)) await jsm.consumers.update(names.stream, durable, changeable);
}
