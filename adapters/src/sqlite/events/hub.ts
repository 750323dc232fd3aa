import { type DomainEvent, matchesType, type SubscribeOptions, type Subscription } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import { failureOf } from '@commonplace/kit/telemetry';
import { appendSpan } from '../../events/telemetry.js';
import type { Connection } from '../file/binding.js';
import type { WriteQueue } from '../file/write-queue.js';
import type { Step } from '../file/writer-protocol.js';
import { type Consumer, createConsumer, type Handler } from './consumer.js';
import { appendStep } from './log.js';

export interface Watcher {
  readonly types: readonly string[];
  readonly handler: (event: DomainEvent) => void;
}

/** State that all buses of one database share: its consumers and watchers, and the notification of commits. */
export interface EventHub {
  readonly reader: Connection;
  readonly queue: WriteQueue;
  readonly log: Log;
  readonly watchers: Set<Watcher>;
  /** Listeners by broadcast topic. */
  readonly listeners: Map<string, Set<(text: string) => void>>;
  readonly consumers: ReadonlyMap<string, Consumer>;
  subscribe(options: SubscribeOptions, handler: Handler): Promise<Subscription>;
  /** Commits statements together with events. Watchers are called before it resolves. */
  commit(steps: readonly Step[], events: readonly DomainEvent[]): Promise<void>;
  close(): void;
}

/**
 * Poll interval in milliseconds, because another process may also write to the file and its commits send no
 * notification.
 */
const POLL_MS = 1_000;

export function createEventHub(reader: Connection, queue: WriteQueue, log: Log): EventHub {
  const watchers = new Set<Watcher>();
  const listeners: EventHub['listeners'] = new Map();
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
    listeners,
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
          // An event that was in the log already is not announced again.
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
      listeners.clear();
    },
  };
}
