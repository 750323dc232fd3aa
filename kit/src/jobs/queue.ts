import { newId } from '../id/index.js';
import type { Log } from '../log/index.js';
import { type Collection, inWork, type Scalar, type Store, type UnitOfWork, type Where } from '../store/index.js';
import { continuing } from '../telemetry/index.js';
import { type Backoff, backoffMs } from './backoff.js';
import { type Changes, claimJob, type HeldJob, type HoldContext, JobLost, type OwnHold } from './held-job.js';
import { dueAt, isJob, type JobRecord, type QueueSpec, timestamp, whereDue } from './record.js';
import { observeQueue, type QueueSignals } from './signals.js';
import { createWakeUp } from './wake-up.js';

/** Bounds the jobs of one group that this process works on at the same time. */
export interface JobGroup<T extends JobRecord> {
  /** Jobs with the same values of these fields belong together. Every job has them. */
  readonly by: readonly (keyof T & string)[];
  readonly concurrency: number;
}

/** What a queue does with its jobs. All durations are in milliseconds. */
export interface QueueOptions<T extends JobRecord> {
  readonly store: Store;
  readonly log: Log;
  readonly spec: QueueSpec<T>;
  /**
   * Works on a job. It ends the job with `finish` or `remove`, or puts it off with `retryIn`. A job that is still held
   * when it returns is due again at once, behind those that have waited for longer. What it throws counts as a failure.
   */
  run(job: HeldJob<T>): Promise<void>;
  /** What changes with the claim, and what else is written in its unit; undefined where the job cannot be taken up now. */
  onClaim?(work: UnitOfWork, record: T): Changes<T> | undefined | Promise<Changes<T> | undefined>;
  /** Ends a job that is given up in the terms of its owner. A job that it does not end becomes a dead letter. */
  onGivenUp?(job: HeldJob<T>, error: unknown): Promise<void>;
  /** Whether a job is not tried again after an error, which is its `failures`-th failure in a row. */
  isFinal?(error: unknown, failures: number): boolean;
  /** Jobs that this process works on at the same time. */
  readonly concurrency: number;
  readonly group?: JobGroup<T>;
  /** Chooses up to `room` jobs itself, none of them `running`; without it those that are due for the longest come first. */
  pick?(room: number, running: ReadonlySet<string>): Promise<readonly T[]>;
  readonly leaseMs?: number;
  /** Failures in a row after which a job is given up. */
  readonly maxFailures?: number;
  readonly backoff?: Backoff;
  /**
   * Whether all waiting jobs are due at the start of a process that alone uses the store, and not only those that a dead
   * process held: for jobs that wait for something that the dead process may have seen.
   */
  readonly allDueAtStart?: boolean;
  /** A dead letter is tried again after so long; without it only when an operator says so. */
  readonly retryDeadAfterMs?: number;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Within [0, 1). */
  readonly random?: () => number;
}

/** Works on the records of one collection, each by one worker at a time, however many processes there are. */
export interface Queue<T extends JobRecord> {
  readonly collection: Collection<T>;
  /** Starts to work. Jobs that a dead process held are due at once where no other process uses the store. */
  begin(): Promise<void>;
  /** Looks for due jobs now, and waits for those that it starts. For tests and for work at a start. */
  runDue(): Promise<void>;
  /** Works on one job at once, beside the others; does nothing where another worker holds it. */
  runNow(record: T): Promise<void>;
  /** Works on a job next, whether it is due or not; does nothing where another worker holds it. */
  prompt(id: string): void;
  /** Looks for due jobs soon. A commit to the collection in this process does so by itself. */
  wake(): void;
  /** Takes no further job, and waits until those that run have ended or handed themselves back. */
  close(): Promise<void>;
}

const LEASE_MS = 30_000;
const MAX_FAILURES = 12;
const BACKOFF: Backoff = { firstMs: 5_000, maxMs: 600_000 };
/** Records that one query reads. */
const PAGE = 100;

export async function openQueue<T extends JobRecord>(options: QueueOptions<T>): Promise<Queue<T>> {
  const { store, spec } = options;
  const collection = await store.collection(spec.collection);
  return new CollectionQueue(collection, options, observeQueue(spec, collection));
}

class CollectionQueue<T extends JobRecord> implements Queue<T> {
  private readonly running = new Map<string, Promise<void>>();
  private readonly runningOf = new Map<string, number>();
  /** Ids of jobs that come next, due or not. */
  private readonly prompted = new Set<string>();
  private readonly stopping = new AbortController();
  private readonly context: HoldContext<T>;
  private readonly wakeUp;
  private unwatch: () => void = () => {};
  private readonly now: () => number;

  constructor(
    readonly collection: Collection<T>,
    private readonly options: QueueOptions<T>,
    private readonly signals: QueueSignals,
  ) {
    const { store, spec, leaseMs = LEASE_MS, now = Date.now } = options;
    this.now = now;
    const own = new WeakSet<UnitOfWork>();
    this.context = {
      ...{ store, spec, collection, holder: newId(), leaseMs, now, stopping: this.stopping.signal },
      ownUnit: (work) => own.add(work),
    };
    this.isOwn = (work) => own.has(work);
    this.wakeUp = createWakeUp({
      look: () => this.look(),
      isExclusive: store.isExclusive,
      now,
      onError: (error) => options.log.error('jobs.look_failed', { queue: spec.name, error }),
    });
  }

  private readonly isOwn: (work: UnitOfWork) => boolean;

  async begin(): Promise<void> {
    const { store, spec } = this.options;
    if (store.isExclusive) await this.takeBack();
    this.unwatch = store.onCommit(spec.collection.name, (work) => {
      if (!this.isOwn(work)) this.wake();
    });
    this.wakeUp.begin();
  }

  wake(): void {
    this.wakeUp.wake();
  }

  prompt(id: string): void {
    this.prompted.add(id);
    this.wake();
  }

  async runDue(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      await this.startDue();
      if (this.running.size === 0) return;
      await Promise.all(this.running.values());
    }
  }

  runNow(record: T): Promise<void> {
    return this.running.get(record.id) ?? this.start(record);
  }

  async close(): Promise<void> {
    this.unwatch();
    this.stopping.abort();
    this.signals.close();
    await this.wakeUp.close();
    await Promise.all(this.running.values());
  }

  /** Starts what is due as far as there is room. Returns when the next job is due, epoch milliseconds. */
  private async look(): Promise<number | undefined> {
    // A look takes its time: what becomes due meanwhile is the next job.
    const from = timestamp(this.now());
    await this.startDue();
    const { due } = this.options.spec;
    const where = whereDue(this.options.spec, { gt: from });
    const [next] = await this.collection.find({ where, sort: [due], limit: 1 });
    const at = next === undefined ? undefined : dueAt(this.options.spec, next);
    return at === undefined ? undefined : Date.parse(at);
  }

  private async startDue(): Promise<void> {
    const { pick, concurrency } = this.options;
    await this.startPrompted();
    for (;;) {
      const room = concurrency - this.running.size;
      if (room <= 0 || this.stopping.signal.aborted) return;
      const picked = await (pick?.(room, new Set(this.running.keys())) ?? this.pickDue(room));
      const startable = picked.filter((record) => this.hasRoomFor(record));
      if (startable.length === 0 || this.stopping.signal.aborted) return;
      for (const record of startable) if (this.hasRoomFor(record)) void this.start(record);
      if (pick === undefined) return;
    }
  }

  private async startPrompted(): Promise<void> {
    if (this.prompted.size === 0) return;
    for (const record of await this.collection.getMany([...this.prompted])) {
      if (!this.hasRoomFor(record)) continue;
      this.prompted.delete(record.id);
      if (isJob(this.options.spec, record) && !record.lease?.holder) void this.start(record);
    }
    if (this.running.size < this.options.concurrency) this.prompted.clear();
  }

  /**
   * Returns the due jobs that have waited for the longest, and no more of a group than there is room for. Groups that are full are
   * left out of the query, so that what waits in them is not read again at each look.
   */
  private async pickDue(room: number): Promise<T[]> {
    const { spec } = this.options;
    const due = whereDue(spec, { lte: timestamp(this.now()) });
    const taken = new Map(this.runningOf);
    const picked: T[] = [];
    const limit = Math.min(PAGE, 2 * room);
    for (let after: Scalar[] | undefined; ; ) {
      const where = { ...due, ...this.outsideOf(taken) } as Where<T>;
      const page = await this.collection.find({ where, sort: [spec.due], limit, ...(after && { after }) });
      for (const record of page) {
        const key = this.groupOf(record);
        if (this.running.has(record.id) || this.isFull(key, taken)) continue;
        taken.set(key, (taken.get(key) ?? 0) + 1);
        picked.push(record);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < limit || picked.length >= room) return picked;
      after = [dueAt(spec, last) as string, last.id];
    }
  }

  /** The filter of jobs whose group has room. */
  private outsideOf(taken: ReadonlyMap<string, number>): Where<T> {
    const { group } = this.options;
    if (group === undefined) return {} as Where<T>;
    const full = [...taken.keys()].filter((key) => this.isFull(key, taken));
    return full.length === 0 ? {} : ({ and: full.map((key) => differsFrom(group, key)) } as Where<T>);
  }

  private groupOf(record: T): string {
    const { group } = this.options;
    return JSON.stringify(group?.by.map((field) => record[field]) ?? []);
  }

  private isFull(key: string, taken: ReadonlyMap<string, number>): boolean {
    const { group } = this.options;
    return group !== undefined && (taken.get(key) ?? 0) >= group.concurrency;
  }

  private hasRoomFor(record: T): boolean {
    if (this.running.has(record.id) || this.running.size >= this.options.concurrency) return false;
    return !this.isFull(this.groupOf(record), this.runningOf);
  }

  private start(record: T): Promise<void> {
    const key = this.groupOf(record);
    this.runningOf.set(key, (this.runningOf.get(key) ?? 0) + 1);
    const done = this.work(record)
      .catch((error) => this.options.log.error('job.lost', { queue: this.options.spec.name, job_id: record.id, error }))
      .finally(() => {
        this.running.delete(record.id);
        const left = (this.runningOf.get(key) ?? 1) - 1;
        if (left === 0) this.runningOf.delete(key);
        else this.runningOf.set(key, left);
        this.wake();
      });
    this.running.set(record.id, done);
    return done;
  }

  private async work(due: T): Promise<void> {
    const hold = await claimJob(this.context, due, this.options.onClaim?.bind(this.options) ?? (() => ({})));
    if (hold === undefined) return;
    const { traceparent } = hold.record;
    const began = performance.now();
    let outcome: Parameters<QueueSignals['ended']>[0] = 'done';
    try {
      await continuing(traceparent, `job ${this.options.spec.name}`, {}, () => this.options.run(hold));
      await this.goOnLater(hold);
    } catch (error) {
      outcome = await this.failed(hold, error);
    } finally {
      await hold.end();
      this.signals.ended(outcome, (performance.now() - began) / 1000);
    }
  }

  /** Makes a job due again that its worker has not ended, unless its record has come to an end in another unit. */
  private async goOnLater(hold: OwnHold<T>): Promise<void> {
    if (!hold.isHeld) return;
    await hold.retryIn(0).catch((error: unknown) => {
      if (!(error instanceof JobLost)) throw error;
    });
  }

  private async failed(hold: OwnHold<T>, error: unknown): Promise<'lost' | 'stopped' | 'failed' | 'given_up'> {
    if (error instanceof JobLost || !hold.isHeld) return 'lost';
    if (this.stopping.signal.aborted) {
      await this.goOnLater(hold);
      return 'stopped';
    }
    const { spec, log, maxFailures = MAX_FAILURES, retryDeadAfterMs, backoff = BACKOFF } = this.options;
    const failures = (hold.record.failures ?? 0) + 1;
    const isOver = failures >= maxFailures || (this.options.isFinal?.(error, failures) ?? false);
    const about = { queue: spec.name, job_id: hold.record.id, job: spec.describe(hold.record), failures, error };
    if (!isOver) {
      log.warn('job.failed', about);
      await hold.fail({ failures, retryMs: backoffMs(backoff, failures, (this.options.random ?? Math.random)()) });
      return 'failed';
    }
    log.error('job.given_up', about);
    try {
      await this.options.onGivenUp?.(hold, error);
    } catch (ending) {
      if (!hold.isHeld) throw ending;
      // The owner's records could not be written: ending the job is tried again after the longest pause.
      log.error('job.not_ended', { ...about, error: ending });
      await hold.fail({ failures, retryMs: backoff.maxMs });
      return 'given_up';
    }
    if (!hold.isHeld) return 'given_up';
    const dead = { at: hold.record.deadAt ?? timestamp(this.now()), ...describeError(error) };
    await hold.fail({ failures, dead, ...(retryDeadAfterMs !== undefined && { retryMs: retryDeadAfterMs }) });
    return 'given_up';
  }

  /** Makes due what a process of the past held, or all that waits. */
  private async takeBack(): Promise<void> {
    const { store, spec, allDueAtStart = false } = this.options;
    const where = whereDue(spec, { gt: timestamp(this.now()) });
    for (let after: Scalar[] | undefined; ; ) {
      const page = await this.collection.find({ where, sort: [spec.due], limit: PAGE, ...(after && { after }) });
      const released = page.filter(({ lease }) => allDueAtStart || (lease !== undefined && lease.holder !== ''));
      await inWork(store, async (work) => {
        for (const { id } of released) {
          const record = await work.get(this.collection, id);
          if (record === undefined || !isJob(spec, record)) continue;
          work.replace(this.collection, record, { ...record, [spec.due]: timestamp(this.now()) });
        }
      });
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = [dueAt(spec, last) as string, last.id];
    }
  }
}

/** The filter of jobs that are of another group than the one with this key. */
function differsFrom<T extends JobRecord>({ by }: JobGroup<T>, key: string): Where<T> {
  const values: Scalar[] = JSON.parse(key);
  const differs = by.map((field, at) => ({ [field]: { not: values[at] } }));
  return { or: differs } as unknown as Where<T>;
}

const MAX_MESSAGE_LENGTH = 500;

function describeError(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'unknown', message: String(error).slice(0, MAX_MESSAGE_LENGTH) };
  const { reason, code, name, message } = error as Error & { reason?: unknown; code?: unknown };
  const told = [reason, code].find((one) => typeof one === 'string');
  return { code: (told as string | undefined) ?? name, message: message.slice(0, MAX_MESSAGE_LENGTH) };
}
