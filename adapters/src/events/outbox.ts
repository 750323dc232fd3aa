import type { DomainEvent, EventBus } from '@commonplace/kit/events';

/** Position of an event on a bus: the log, which changes when a bus loses its disk, and the sequence number in it. */
export interface Position {
  readonly log: string;
  readonly seq: number;
}

/** A bus that can check whether it still has the events that it acknowledged. */
export interface TracedBus extends EventBus {
  /** Publishes events as `publish` does, and returns the position of each. */
  publishTraced(events: readonly DomainEvent[]): Promise<Position[]>;
  /** Returns whether an event is at its position, or was there for the full retention time. */
  holds(position: Position, id: string): Promise<boolean>;
  /**
   * Calls back when a lost connection was restored, or when stored events may be lost. Returns a function that removes
   * the listener.
   */
  onReconnect(listener: () => void): () => void;
}

/**
 * Events that a service has committed, some of which the bus may not have yet.
 *
 * Duties of an adapter:
 * - An event is in the outbox once its unit was acknowledged, and never if the unit failed.
 * - Entries keep the order of units and their events (see `store/port.ts`), even if clocks are set back.
 * - A published entry is retained for 7 more days, an unpublished one without limit.
 */
export interface Outbox {
  /** Returns the first unpublished entries. */
  pending(limit: number): Promise<DomainEvent[]>;
  /** Marks events as published, with their positions. */
  published(events: readonly DomainEvent[], positions?: readonly Position[]): Promise<void>;
  /** Sets aside an event that no bus accepts, with the reason. The event is retained. */
  refused(event: DomainEvent, reason: string): Promise<void>;
  /** Returns the published entry that is `skip` entries before the last one. */
  lastPublished(skip: number): Promise<{ id: string; position: Position } | undefined>;
  /** Marks published entries after a position, or all of them, as pending again. Returns their number. */
  replay(behind?: Position): Promise<number>;
  /** Calls back soon after any process commits events. Returns a function that removes the listener. */
  onCommit(wake: () => void): () => void;
  /**
   * Acquires or renews the lead among instances; to be called every second. An instance that stops calling loses the
   * lead after 3 seconds. Two instances may lead for a moment.
   */
  lead(instance: string): Promise<boolean>;
  resign(instance: string): Promise<void>;
  /** Returns the number of pending entries, counted up to 10,000, and the time of the oldest event among them. */
  backlog(): Promise<{ pending: number; oldest: string | undefined }>;
}
