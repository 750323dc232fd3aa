/**
 * An event: CloudEvents 1.0 in JSON form, with the extension attributes that follow `data`. It carries ids, changed
 * fields and versions only; a consumer that needs more calls the service that owns the data.
 */
export interface DomainEvent {
  readonly specversion: '1.0';
  /** Id of the event, the same for every delivery. */
  readonly id: string;
  /** The service that owns the data: `/resources`. */
  readonly source: string;
  /** Event type, in the past tense: `commonplace.<service>.<noun>.<verb>`. */
  readonly type: string;
  /** Id of the aggregate; events of one aggregate keep their order. */
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: Readonly<Record<string, unknown>>;
  readonly tenant?: string;
  readonly requestid?: string;
  readonly traceparent?: string;
  /** Who caused the event; `person` is the id of the person behind an actor that is not a person. */
  readonly actor?: { readonly type: string; readonly id: string; readonly name: string; readonly person?: string };
  /** The credential that was used; its id is not secret. */
  readonly credential?: { readonly type: string; readonly id: string };
  /** Network of the client in CIDR notation. */
  readonly network?: string;
  /** Ids of the automations whose runs led to this event, oldest first. */
  readonly chain?: readonly string[];
}

export interface SubscribeOptions {
  /** Durable name: instances with the same name share the work, and a restarted one continues where it stopped. */
  readonly consumer: string;
  /** Event types, or prefixes of types that end in `.>`: `commonplace.resources.>`. */
  readonly types: readonly string[];
  /** Maximum number of events in one call of the handler; 1 when absent. */
  readonly batch?: number;
  /**
   * Number of attempts before an event is parked; 8 when absent. The first 30 failures because a service is away or too
   * busy do not count.
   */
  readonly maxAttempts?: number;
  /** Where a new consumer starts: with all stored events, or only with new ones; `start` when absent. */
  readonly from?: 'start' | 'now';
  /** Milliseconds before the first retry of a failed event, doubled for each retry up to a minute; 200 when absent. */
  readonly retryMs?: number;
}

export interface ParkedEvent {
  readonly event: DomainEvent;
  readonly attempts: number;
  readonly error: string;
}

/**
 * The events that consumers could not handle, for operators. `eventIds` limits a method to some of a consumer's events;
 * ids that are not parked are ignored.
 */
export interface ParkedEvents {
  /** Returns the names of all consumers: those that have ever subscribed, and those that have parked events. */
  consumers(): Promise<string[]>;
  /** Returns the names of the consumers that have parked events. */
  parkedConsumers(): Promise<string[]>;
  parked(consumer: string): Promise<ParkedEvent[]>;
  /** Delivers a consumer's parked events to it again. Returns their number. */
  unpark(consumer: string, eventIds?: readonly string[]): Promise<number>;
  /** Deletes parked events; their effects stay missing. Returns their number. */
  dropParked(consumer: string, eventIds?: readonly string[]): Promise<number>;
}

export interface Subscription {
  /** Stops taking events and waits for the running handler. */
  close(): Promise<void>;
}

/**
 * Carries events from the outboxes to consumers.
 *
 * Duties of an adapter:
 * - An acknowledged event is delivered at least once to each durable consumer, whichever process crashes, within the
 *   retention time (7 days).
 * - An id that was published within the last two minutes is not delivered as another event.
 * - Events of one subject reach one consumer in order: a later one is not started before the earlier one is
 *   acknowledged or parked.
 * - A handler that fails gets the same events again. After the last attempt an event is parked: it can be listed and
 *   does not block other events.
 * - `close` loses nothing: unfinished events are delivered to the next instance.
 * - `watch` notifies every process, soon and at most once; it serves to invalidate caches.
 */
export interface EventBus extends ParkedEvents {
  publish(events: readonly DomainEvent[]): Promise<void>;
  subscribe(
    options: SubscribeOptions,
    handler: (events: readonly DomainEvent[]) => Promise<void>,
  ): Promise<Subscription>;
  watch(types: readonly string[], handler: (event: DomainEvent) => void): Promise<Subscription>;
  /**
   * Sends a text to every process that is listening to the topic, in call order. Nothing is stored, delivery is not
   * confirmed, and it never throws: listeners can recover missed texts from records.
   */
  broadcast(topic: string, text: string): void;
  /** Listens to a topic. Once this has resolved, no later text is missed for lack of a subscription. */
  listen(topic: string, handler: (text: string) => void): Promise<Subscription>;
  /** Returns the number of published events that a consumer has not handled yet. */
  lag(consumer: string): Promise<number>;
  /** Returns the number of a consumer's parked events. */
  parkedCount(consumer: string): Promise<number>;
  close(): Promise<void>;
}

/** Returns whether an event type matches one of the types or `.>` prefixes. */
export function matchesType(type: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('.>') ? type.startsWith(pattern.slice(0, -1)) : pattern === type,
  );
}
