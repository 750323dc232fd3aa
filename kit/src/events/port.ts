/**
 * Something that happened: CloudEvents 1.0 in its JSON form with the extensions that follow
 * `data`. Thin: ids, changed fields, versions; whoever wants more asks the owner.
 */
export interface DomainEvent {
  readonly specversion: '1.0';
  /** The same for every delivery. */
  readonly id: string;
  /** `/resources`: the service that owns the fact. */
  readonly source: string;
  /** `commonplace.<service>.<noun>.<verb>`, past tense. */
  readonly type: string;
  /** Id of the aggregate; events of one aggregate keep their order. */
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: Readonly<Record<string, unknown>>;
  readonly tenant?: string;
  readonly requestid?: string;
  readonly traceparent?: string;
  /** Who did it; `person` is the id of the one behind a doer that is no person. */
  readonly actor?: { readonly type: string; readonly id: string; readonly name: string; readonly person?: string };
  /** Ids of the events that led to this one, oldest first. */
  readonly chain?: readonly string[];
}

export interface SubscribeOptions {
  /** Durable name: instances that share it share the work, and it goes on where it stopped. */
  readonly consumer: string;
  /** Types, or prefixes of them that end in `.>`: `commonplace.resources.>`. */
  readonly types: readonly string[];
  /** Events a call of the handler gets at the most; 1 when absent. */
  readonly batch?: number;
  /** Deliveries of one event before it is parked; 8 when absent. */
  readonly maxAttempts?: number;
  /** Where a consumer that is new begins: all that is kept, or what comes; `start` when absent. */
  readonly from?: 'start' | 'now';
  /** Milliseconds before a failed event is tried again, doubled each time up to a minute; 200 when absent. */
  readonly retryMs?: number;
}

export interface ParkedEvent {
  readonly event: DomainEvent;
  readonly attempts: number;
  readonly error: string;
}

export interface Subscription {
  /** Stops taking events, waits for the handler that runs. */
  close(): Promise<void>;
}

/**
 * Carries events from the outboxes to consumers.
 *
 * Duties of an adapter:
 * - What `publish` acknowledged is delivered at least once to each durable consumer, whoever
 *   crashes, as long as it is kept (7 days).
 * - An id that was published within the last two minutes is not delivered as another event.
 * - Events of one subject reach one consumer in order: a later one is not begun before the earlier
 *   is done or parked.
 * - A handler that fails sees the same events again; after the last try an event is parked, can be
 *   listed, and holds up nothing.
 * - `close` loses nothing: what was not finished comes again to the next instance.
 * - `watch` tells every process, soon and at most once; for dropping caches.
 */
export interface EventBus {
  publish(events: readonly DomainEvent[]): Promise<void>;
  subscribe(
    options: SubscribeOptions,
    handler: (events: readonly DomainEvent[]) => Promise<void>,
  ): Promise<Subscription>;
  watch(types: readonly string[], handler: (event: DomainEvent) => void): Promise<Subscription>;
  /** Events of a consumer that wait: published, not done. */
  lag(consumer: string): Promise<number>;
  parked(consumer: string): Promise<ParkedEvent[]>;
  /** How many are parked. */
  parkedCount(consumer: string): Promise<number>;
  /** Gives a consumer its parked events again. */
  unpark(consumer: string): Promise<number>;
  close(): Promise<void>;
}

/** Tells whether an event's type is among types and `.>` prefixes. */
export function matchesType(type: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('.>') ? type.startsWith(pattern.slice(0, -1)) : pattern === type,
  );
}
