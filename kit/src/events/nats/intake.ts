import { AckPolicy, type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Log } from '../../log/index.js';
import { createBell } from '../bell.js';
import type { DomainEvent, SubscribeOptions } from '../port.js';
import type { Connection, Link } from './connection.js';
import { ifThere } from './errors.js';
import { disjoint, type Names } from './names.js';
import { createQueue, type Queue } from './queue.js';
import { ensureStreams } from './streams.js';
import { GROUP, openTakeover } from './takeover.js';

/** Milliseconds that one request for events stands, and between signs of life; the client allows no less than the last. */
const [EXPIRES, LEAST_EXPIRES] = [2000, 1000];

/**
 * Takes the events of a durable consumer. Of all instances the server pins one, and delivers to it
 * alone; so the order of a subject is that of this instance's queue. One that takes over begins when
 * what its predecessor had in hand has been delivered to it.
 */
export interface Intake {
  readonly queue: Queue;
  /** Resolves once the consumer exists, or after a while without the broker. */
  readonly ready: Promise<void>;
  /** Whether this instance leads, and has got all that stands before what it has. */
  settled(): Promise<boolean>;
  /** Takes nothing more. What is in the queue is for the caller to give back. */
  stop(): Promise<void>;
  /** Gives the lead to another instance at once, when so many events were given back and none is in hand. */
  resign(givenBack: number): Promise<void>;
}

export interface IntakeOptions {
  readonly connection: Connection;
  readonly names: Names;
  readonly options: SubscribeOptions;
  readonly replicas: number;
  /** Milliseconds after which the server delivers again what nobody works on; half of them after which another leads that could not tell before. */
  readonly silenceMs: number;
  /** Called when there is something new in the queue. */
  readonly arrived: () => void;
  readonly log: Log;
}

export function openIntake(given: IntakeOptions): Intake {
  const { connection, names, options, replicas, silenceMs, arrived, log } = given;
  const queue = createQueue();
  const durable = names.durable(options.consumer);
  const window = Math.max(64, 4 * (options.batch ?? 1));
  const expires = Math.max(LEAST_EXPIRES, Math.min(EXPIRES, silenceMs / 6));
  const pause = createBell();
  const takeover = openTakeover({ connection, names, consumer: options.consumer, silenceMs, log });
  let pin: string | undefined;
  let certain = false;
  let stopped = false;
  let known = false;
  let messages: ConsumerMessages | undefined;
  let begun = (): void => {};
  const ready = new Promise<void>((resolve) => {
    begun = resolve;
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
      // Whatever an earlier lead delivered may be in other hands by now.
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
    await ensureStreams(link.jsm, names, replicas);
    // A consumer that was there once and is gone was lost with its stream: all that is kept may be new to it.
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
      pause.hush();
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

/** Makes a durable consumer, or changes what it takes. */
async function ensureConsumer(
  { jsm }: Link,
  { names, options: { consumer, types }, silenceMs }: IntakeOptions,
  window: number,
  from: 'start' | 'now',
): Promise<void> {
  const durable = names.durable(consumer);
  const changeable = {
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
  const { filter_subjects, max_ack_pending, ack_wait } = info.config;
  const now = { filter_subjects: [...(filter_subjects ?? [])].sort(), max_ack_pending, ack_wait };
  if (JSON.stringify(now) !== JSON.stringify(changeable)) await jsm.consumers.update(names.stream, durable, changeable);
}
