import { createWakeSignal, type EventBus, type Subscription } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import { createBreathe } from '@commonplace/kit/slices';
import type { Collection } from '@commonplace/kit/store';
import { type EventLog, LOG_TOPIC } from './log.js';
import type { StreamEvent } from './records.js';

/** A receiver of the events of some tenants, as they are appended. */
export interface TailReader {
  readonly tenants: ReadonlySet<string>;
  /** Receives an event. It must not throw, and must return at once, so that a slow reader delays no other. */
  push(event: StreamEvent): void;
}

interface TailParts {
  readonly log: Log;
  readonly bus: Pick<EventBus, 'listen'>;
  readonly streamEvents: Collection<StreamEvent>;
  readonly eventLog: Pick<EventLog, 'head'>;
}

/** Milliseconds after which the log is read without a broadcast, since broadcasts may be lost. */
const POLL_MS = 1_000;
/** Number of events that one query reads. */
const PAGE = 500;

/** Reads new events of the log once for all streams of this process, as long as there are any. */
export class Tail {
  /** The number up to which all events were given to the readers. */
  seq = 0;
  private readonly readers = new Map<TailReader, number>();
  private readonly byTenant = new Map<string, Set<TailReader>>();
  private readonly wakeSignal = createWakeSignal();
  private opening: Promise<void> | undefined;
  private listener: Subscription | undefined;
  private running: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly parts: TailParts) {}

  /**
   * Adds a reader, which gets all events after the returned number. A reader that has already seen the events up to
   * `seen` gets none of them again: another process, where it read before, may have been ahead of this one.
   */
  async join(reader: TailReader, seen = 0): Promise<number> {
    this.opening ??= this.open();
    await this.opening;
    let start = 0;
    if (this.readers.size === 0 || seen > this.seq) {
      const { seq } = await this.parts.eventLog.head();
      // Without readers the number is not kept up to date.
      if (this.readers.size === 0) this.seq = Math.max(this.seq, seq);
      start = Math.min(seen, seq);
    }
    start = Math.max(start, this.seq);
    this.readers.set(reader, start);
    this.index(reader, reader.tenants);
    this.wakeSignal.wake();
    return start;
  }

  leave(reader: TailReader): void {
    this.readers.delete(reader);
    for (const tenant of reader.tenants) this.drop(reader, tenant);
  }

  /** Gives a reader the events of further tenants from now on. */
  add(reader: TailReader, tenants: Iterable<string>): void {
    if (this.readers.has(reader)) this.index(reader, tenants);
  }

  remove(reader: TailReader, tenants: Iterable<string>): void {
    for (const tenant of tenants) this.drop(reader, tenant);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.wakeSignal.close();
    await this.running;
    await this.listener?.close();
  }

  private async open(): Promise<void> {
    try {
      this.listener = await this.parts.bus.listen(LOG_TOPIC, () => this.wakeSignal.wake());
    } catch (error) {
      this.opening = undefined;
      throw error;
    }
    this.running = this.run();
  }

  private async run(): Promise<void> {
    while (!this.closed) {
      try {
        const isFull = this.readers.size > 0 && (await this.read()) === PAGE;
        if (!isFull) await this.wakeSignal.wait(this.readers.size > 0 ? POLL_MS : Number.POSITIVE_INFINITY);
      } catch (error) {
        this.parts.log.warn('events.tail_failed', { error });
        await this.wakeSignal.sleep(POLL_MS);
      }
    }
  }

  /** Reads the next events and gives them to their readers. Returns the number of events read. */
  private async read(): Promise<number> {
    const events = await this.parts.streamEvents.find({ where: { seq: { gt: this.seq } }, sort: ['seq'], limit: PAGE });
    const breathe = createBreathe();
    for (const event of events) {
      await breathe();
      for (const reader of this.byTenant.get(event.tenant) ?? []) {
        if (event.seq > (this.readers.get(reader) ?? 0)) reader.push(event);
      }
      this.seq = Math.max(this.seq, event.seq);
    }
    return events.length;
  }

  private index(reader: TailReader, tenants: Iterable<string>): void {
    for (const tenant of tenants) {
      const some = this.byTenant.get(tenant) ?? new Set();
      this.byTenant.set(tenant, some.add(reader));
    }
  }

  private drop(reader: TailReader, tenant: string): void {
    const some = this.byTenant.get(tenant);
    some?.delete(reader);
    if (some?.size === 0) this.byTenant.delete(tenant);
  }
}
