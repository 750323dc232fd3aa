import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '../errors/index.js';
import { type Collection, LostRace, type Store, type UnitOfWork } from '../store/port.js';
import { type DeadLetter, dueAt, isJob, type JobRecord, type QueueSpec, timestamp } from './record.js';

/** Thrown when another worker holds the job now, or the job is gone: this worker must stop working on it. */
export class JobLost extends Error {
  constructor(queue: string, id: string) {
    super(`${queue}: another worker holds ${id}, or it is gone`);
    this.name = 'JobLost';
  }
}

/** Fields that a worker changes; the queue writes those of `JobRecord` itself. */
export type Changes<T> = Partial<Omit<T, 'id' | 'version' | keyof JobRecord>>;
type Change<T> = Changes<T> | ((record: T) => Changes<T>);
/** Adds writes to the unit that changes the job. It is called again when the commit loses a race. */
type Also<T> = (work: UnitOfWork, record: T) => unknown;

/**
 * A job that this worker holds. Every write is fenced: it takes effect only while the record still carries this worker's
 * lease, and rejects with `JobLost` otherwise. Others may change fields of the record meanwhile; a change is applied to
 * the record as it is then.
 */
export interface HeldJob<T extends JobRecord> {
  /** The record as this worker has last read or written it. */
  readonly record: T;
  /** Aborts when the lease is lost or could not be renewed in time, and when the process stops. */
  readonly signal: AbortSignal;
  /**
   * Whether the process is stopping: the worker should return at the next point from which another worker can continue.
   */
  readonly isStopping: boolean;
  /** Whether this worker still holds the job and has not ended it. */
  readonly isHeld: boolean;
  /**
   * Whether other code has made the record due while this worker held it, because there is new work. `retryIn` then
   * makes the record due at once, and so does the write of `endIn`.
   */
  readonly isPrompted: boolean;
  /** Writes a change and renews the lease. */
  save(change?: Change<T>, also?: Also<T>): Promise<void>;
  /** Ends the hold; the job is due again after `ms` milliseconds. */
  retryIn(ms: number, change?: Change<T>, also?: Also<T>): Promise<void>;
  /** Ends the hold and keeps the record, which is no longer due. */
  finish(change?: Change<T>, also?: Also<T>): Promise<void>;
  /** Ends the hold and deletes the record. */
  remove(also?: Also<T>): Promise<void>;
  /**
   * Ends the hold with a unit of work in which `write` itself replaces, moves or deletes the record. `write` receives
   * the record without a lease, and is called again when the commit loses a race.
   */
  endIn(write: Also<T>): Promise<void>;
}

export interface HoldContext<T extends JobRecord> {
  readonly store: Store;
  readonly spec: QueueSpec<T>;
  readonly collection: Collection<T>;
  readonly holder: string;
  readonly leaseMs: number;
  readonly now: () => number;
  readonly stopping: AbortSignal;
  /** Called with each unit of work that the queue itself commits. */
  readonly ownUnit: (work: UnitOfWork) => void;
}

/** Maximum number of times that a write is repeated because it lost a race without losing the lease. */
const MAX_RACES = 50;
const MAX_RACE_DELAY_MS = 50;

/** Facts about a failed attempt that are written to the record. */
interface Failure {
  readonly failures: number;
  /** How many of the failures do not count. */
  readonly waits: number;
  readonly dead?: DeadLetter;
  /** Milliseconds until the next attempt; absent if there is none. */
  readonly retryMs?: number;
}

/** A held job with the methods that only the queue uses. */
export interface OwnHold<T extends JobRecord> extends HeldJob<T> {
  /** Ends the hold after a failure. */
  fail(failure: Failure): Promise<void>;
  /** Stops renewing the lease, and waits for the write in progress. */
  end(): Promise<void>;
}

/**
 * Claims a due job. `onClaim` returns fields to change in the same unit of work. Returns undefined if another worker
 * was faster, or if `onClaim` returns undefined.
 */
export async function claimJob<T extends JobRecord>(
  context: HoldContext<T>,
  due: T,
  onClaim: (work: UnitOfWork, record: T) => Changes<T> | undefined | Promise<Changes<T> | undefined>,
): Promise<OwnHold<T> | undefined> {
  const { store, spec, collection, holder, leaseMs, now } = context;
  const work = store.begin();
  context.ownUnit(work);
  const lease = { holder, epoch: (due.lease?.epoch ?? 0) + 1 };
  const changes = await onClaim(work, due);
  if (changes === undefined) return undefined;
  const claimed = { ...due, ...changes, lease, [spec.due]: timestamp(now() + leaseMs) };
  const record = work.replace(collection, due, claimed);
  try {
    await work.commit();
  } catch (error) {
    if (error instanceof LostRace) return undefined;
    throw error;
  }
  return new Hold(context, record, lease.epoch);
}

class Hold<T extends JobRecord> implements OwnHold<T> {
  private readonly lost = new AbortController();
  readonly signal: AbortSignal;
  private readonly renewal: NodeJS.Timeout;
  /** The last write; writes run sequentially. */
  private last: Promise<unknown> = Promise.resolve();
  private ended = false;
  /** Time of the last write of the lease, in epoch milliseconds. */
  private renewedAt: number;
  /** The due time that this worker wrote last. */
  private writtenDue: string | undefined;
  private prompted = false;

  constructor(
    private readonly context: HoldContext<T>,
    private known: T,
    private readonly epoch: number,
  ) {
    this.signal = AbortSignal.any([this.lost.signal, context.stopping]);
    this.renewal = setInterval(() => void this.renew(), context.leaseMs / 3);
    this.renewal.unref();
    this.renewedAt = context.now();
    this.writtenDue = dueAt(context.spec, known);
  }

  /**
   * Renews the lease. If renewals have failed for the length of a lease, another worker may hold the job, so this
   * worker stops.
   */
  private async renew(): Promise<void> {
    try {
      await this.save();
    } catch {
      const { now, leaseMs } = this.context;
      if (!this.ended && now() - this.renewedAt >= leaseMs) this.lose();
    }
  }

  get record(): T {
    return this.known;
  }

  get isStopping(): boolean {
    return this.context.stopping.aborted;
  }

  get isHeld(): boolean {
    return !this.ended;
  }

  get isPrompted(): boolean {
    return this.prompted;
  }

  save(change: Change<T> = {}, also?: Also<T>): Promise<void> {
    const { now, leaseMs } = this.context;
    return this.change(
      (record) => ({ ...record, ...resolveChange(change, record), ...this.due(now() + leaseMs) }),
      also,
    );
  }

  retryIn(ms: number, change: Change<T> = {}, also?: Also<T>): Promise<void> {
    const { now } = this.context;
    const dueIn = () => (this.prompted ? 0 : ms);
    return this.close((record) => ({ ...this.succeeded(record, change), ...this.due(now() + dueIn()) }), also);
  }

  finish(change: Change<T> = {}, also?: Also<T>): Promise<void> {
    return this.close((record) => ({ ...this.succeeded(record, change), ...this.due() }), also);
  }

  remove(also?: Also<T>): Promise<void> {
    return this.close(() => undefined, also);
  }

  endIn(write: Also<T>): Promise<void> {
    return this.endAfter(() =>
      this.write(async (work) => {
        await write(work, { ...this.known, ...NO_FAILURE, lease: this.noLease });
        return this.known;
      }),
    );
  }

  fail({ failures, waits, dead, retryMs }: Failure): Promise<void> {
    const { now } = this.context;
    const due = this.due(retryMs === undefined ? undefined : now() + retryMs);
    const failed = {
      failures,
      ...(waits > 0 && { waits }),
      ...(dead !== undefined && { deadAt: dead.at, deadLetter: dead }),
    };
    return this.close((record) => ({ ...record, ...failed, ...due, lease: this.noLease }));
  }

  async end(): Promise<void> {
    this.ended = true;
    clearInterval(this.renewal);
    await this.last;
  }

  /** Returns a lease without a holder. The epoch stays on the record, so that it never has the same value twice. */
  private get noLease() {
    return { holder: '', epoch: this.epoch };
  }

  private succeeded(record: T, change: Change<T>): object {
    return { ...record, ...resolveChange(change, record), ...NO_FAILURE, lease: this.noLease };
  }

  private due(ms?: number): object {
    return { [this.context.spec.due]: ms === undefined ? undefined : timestamp(ms) };
  }

  private close(change: (record: T) => object | undefined, also?: Also<T>): Promise<void> {
    return this.endAfter(() => this.change(change, also));
  }

  private async endAfter(write: () => Promise<void>): Promise<void> {
    await write();
    this.ended = true;
    clearInterval(this.renewal);
  }

  /** Replaces the record with the result of `change`, or deletes it if that is undefined. */
  private change(change: (record: T) => object | undefined, also: Also<T> = () => {}): Promise<void> {
    const { collection } = this.context;
    return this.write(async (work) => {
      const before = this.known;
      const after = change(before);
      if (after === undefined) work.remove(collection, before);
      const record = after === undefined ? before : work.replace(collection, before, after as T);
      await also(work, before);
      return record;
    });
  }

  /**
   * Commits a unit of work that depends on the known version of the record. `fill` adds the writes and returns the
   * record as the unit leaves it.
   */
  private write(fill: (work: UnitOfWork) => Promise<T>): Promise<void> {
    const done = this.last.then(async () => {
      if (this.ended) throw this.loss();
      for (let races = 1; !(await this.tryToWrite(fill)); races++) {
        if (races === MAX_RACES) throw Unavailable({}, { retryAfter: 1 });
        await sleep(Math.random() * MAX_RACE_DELAY_MS);
      }
    });
    this.last = done.catch(() => {});
    return done;
  }

  /**
   * Returns false if a concurrent write that did not change the lease made the commit fail. Rejects with `JobLost` if
   * the lease was lost.
   */
  private async tryToWrite(fill: (work: UnitOfWork) => Promise<T>): Promise<boolean> {
    const work = this.context.store.begin();
    this.context.ownUnit(work);
    const record = await fill(work);
    try {
      await work.commit();
      this.known = record;
      this.writtenDue = dueAt(this.context.spec, record);
      this.renewedAt = this.context.now();
      return true;
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
      await this.readAgain();
      return false;
    }
  }

  private async readAgain(): Promise<void> {
    const { collection, spec, holder } = this.context;
    const present = await collection.get(this.known.id);
    const isOurs = present?.lease?.holder === holder && present.lease.epoch === this.epoch;
    if (present === undefined || !isOurs || !isJob(spec, present)) {
      throw this.lose();
    }
    if (dueAt(spec, present) !== this.writtenDue) this.prompted = true;
    this.known = present;
  }

  private lose(): JobLost {
    this.ended = true;
    clearInterval(this.renewal);
    const loss = this.loss();
    this.lost.abort(loss);
    return loss;
  }

  private loss(): JobLost {
    return new JobLost(this.context.spec.name, this.known.id);
  }
}

const NO_FAILURE = { failures: undefined, waits: undefined, deadAt: undefined, deadLetter: undefined } as const;

function resolveChange<T extends JobRecord>(change: Change<T>, record: T): Changes<T> {
  return typeof change === 'function' ? change(record) : change;
}
