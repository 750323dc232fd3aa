import type { Log } from '../../log/index.js';
import type { Connection } from '../../store/sqlite/binding.js';
import type { WriteQueue } from '../../store/sqlite/write-queue.js';
import type { Step } from '../../store/sqlite/writer-protocol.js';
import { appendSpan } from '../../telemetry/messaging.js';
import { failureOf } from '../../telemetry/trace.js';
import { type DomainEvent, matchesType, type SubscribeOptions, type Subscription } from '../port.js';
import { type Consumer, createConsumer, type Handler } from './consumer.js';
import { appendStep } from './log.js';

export interface Watcher {
  readonly types: readonly string[];
  readonly handler: (event: DomainEvent) => void;
}

/** What all buses of one database share: its consumers and watchers, and how they learn of commits. */
export interface EventHub {
  readonly reader: Connection;
  readonly queue: WriteQueue;
  readonly log: Log;
  readonly watchers: Set<Watcher>;
  readonly consumers: ReadonlyMap<string, Consumer>;
  subscribe(options: SubscribeOptions, handler: Handler): Promise<Subscription>;
  /** Commits statements together with events; those who watch them know before it resolves. */
  commit(steps: readonly Step[], events: readonly DomainEvent[]): Promise<void>;
  close(): void;
}

/** Another process may write to the file too; its commits wake nobody here. */
const POLL_MS = 1_000;

export function createEventHub(reader: Connection, queue: WriteQueue, log: Log): EventHub {
  const watchers = new Set<Watcher>();
  const consumers = new Map<string, Consumer>();
  const poll = setInterval(() => {
    for (const consumer of consumers.values()) consumer.wake();
  }, POLL_MS).unref();

  function announce(events: readonly DomainEvent[]): void {
    for (const event of events) {
      for (const { types, handler } of watchers) {
        if (!matchesType(event.type, types)) continue;
        try {
          handler(event);
        } catch (error) {
          log.error('events.watcher_failed', { type: event.type, error });
        }
      }
    }
    for (const consumer of consumers.values()) {
      if (events.some((event) => matchesType(event.type, consumer.types))) consumer.wake();
    }
  }

  return {
    reader,
    queue,
    log,
    watchers,
    consumers,
    async subscribe(options, handler) {
      const name = options.consumer;
      for (let there = consumers.get(name); there?.ended !== undefined; there = consumers.get(name)) await there.ended;
      const onEnd = (): void => void consumers.delete(name);
      const consumer = consumers.get(name) ?? createConsumer(name, { reader, queue, log, onEnd });
      consumers.set(name, consumer);
      return consumer.join(options, handler);
    },
    async commit(steps, events) {
      const span = appendSpan('sqlite', events.length);
      try {
        await queue.commit([...steps, ...events.map(appendStep)], (changes) => {
          // An event that the log had already is no news.
          announce(events.filter((_, at) => changes[steps.length + at] === 1));
        });
        span?.end();
      } catch (error) {
        span?.end(failureOf(error));
        throw error;
      }
    },
    close() {
      clearInterval(poll);
      watchers.clear();
    },
  };
}
