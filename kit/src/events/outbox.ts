import type { DomainEvent, EventBus } from './port.js';

/** Where a bus keeps an event: a log, which a bus that lost its disk begins anew, and a place in it. */
export interface Position {
  readonly log: string;
  readonly seq: number;
}

/** A bus that can tell whether it still has what it acknowledged. */
export interface TracedBus extends EventBus {
  /** As `publish`; tells where each event is. */
  publishTraced(events: readonly DomainEvent[]): Promise<Position[]>;
  /** Whether an event is where it was put, or has been kept there for as long as the bus keeps events. */
  holds(position: Position, id: string): Promise<boolean>;
  /** Calls back when a lost connection is there again, or what was kept may be lost. Gives what ends that. */
  onReconnect(listener: () => void): () => void;
}

/**
 * The events that a service has committed and its bus may not have yet.
 *
 * Duties of an adapter:
 * - An event is there when its unit was acknowledged, and never when the unit failed.
 * - Entries stand in the order of the outbox (`store/port.ts`), however clocks step.
 * - A published entry is kept for 7 days more, one that was not published for ever.
 */
export interface Outbox {
  /** The first entries that are not published. */
  pending(limit: number): Promise<DomainEvent[]>;
  /** Remembers that events are published, and where. */
  published(events: readonly DomainEvent[], positions?: readonly Position[]): Promise<void>;
  /** Sets an event aside that no bus will take, with the reason. It is kept. */
  refused(event: DomainEvent, reason: string): Promise<void>;
  /** Of what was published, the entry that stands `skip` places before the last. */
  lastPublished(skip: number): Promise<{ id: string; position: Position } | undefined>;
  /** Makes pending again what was published behind a position, or all of it. Gives how many entries. */
  replay(behind?: Position): Promise<number>;
  /** Calls back soon after a commit with events, whoever made it. Gives what ends that. */
  onCommit(wake: () => void): () => void;
  /**
   * Takes the lead among instances, or keeps it; to be called every second. An instance that stops
   * calling loses it after 3 seconds. Two may lead for a moment.
   */
  lead(instance: string): Promise<boolean>;
  resign(instance: string): Promise<void>;
  /** How many entries wait, counted up to 10,000, and the time of the first event among them. */
  backlog(): Promise<{ pending: number; oldest: string | undefined }>;
}
