import { isPassing as isUnavailable } from '../errors/index.js';
import { newId } from '../id/index.js';
import type { Log } from '../log/index.js';
import { type Collection, inWork, LostRace, type Scalar, type Store, type UnitOfWork } from '../store/index.js';
import { continuing } from '../telemetry/index.js';
import { type Backoff, backoffMs } from './backoff.js';
import { type Changes, claimJob, type HeldJob, type HoldContext, JobLost, type OwnHold } from './held-job.js';
import { dueAt, isJob, type JobRecord, type QueueSpec, timestamp, whereDue } from './record.js';
import { observeQueue, type QueueSignals } from './signals.js';
import { createWakeUp } from './wake-up.js';

/** Options of a queue. All durations are in milliseconds. */
export interface QueueOptions<T extends JobRecord> {
  readonly store: Store;
  readonly log: Log;
  readonly spec: QueueSpec<T>;
  /**
   * Works on a job. It ends the job with `finish` or `remove`, or postpones it with `retryIn`. A job that is still held
   * when `run` returns is due again at once, after jobs that have waited longer. An error that `run` throws counts as a
   * failure.
   */
  run(job: HeldJob<T>): Promise<void>;
  /**
   * Returns fields to change with the claim, and may add writes to its unit of work. Returns undefined if the job must
   * not be started now.
   */
  onClaim?(work: UnitOfWork, record: T): Changes<T> | undefined | Promise<Changes<T> | undefined>;
  /**
   * Ends a job that is given up, for example by recording the failure for its owner. A job that it does not end becomes
   * a dead letter.
   */
  onGivenUp?(job: HeldJob<T>, error: unknown): Promise<void>;
  /** Returns whether an error must not be retried. */
  isFinal?(error: unknown): boolean;
  /**
   * Returns whether an error says nothing about the job, because something that it needs was unavailable: it is retried,
   * and does not count towards `maxFailures`. By default, `isPassing` of the kit decides, and lost races pass.
   */
  isPassing?(error: unknown): boolean;
  /** Maximum number of jobs that this process works on at the same time. */
  readonly concurrency: number;
  /** Limits the number of jobs of one group that this process works on at the same time. */
  readonly group?: { of(record: T): string; readonly concurrency: number };
  /**
   * Chooses up to `room` jobs that are not in `running`. Without it, the queue takes the jobs that have been due the
   * longest.
   */
  pick?(room: number, running: ReadonlySet<string>): Promise<readonly T[]>;
  readonly leaseMs?: number;
  /** Number of consecutive failures after which a job is given up. Those that pass do not count. */
  readonly maxFailures?: number;
  /**
   * Number of consecutive failures that pass and do not count. Further ones do, so that a job that itself makes a service
   * fail is given up in the end.
   */
  readonly maxWaits?: number;
  readonly backoff?: Backoff;
  /**
   * Whether all waiting jobs become due when a process starts that uses the store alone, rather than only those that a
   * dead process held. For jobs that wait for an event that the dead process may have received.
   */
  readonly allDueAtStart?: boolean;
  /** Time after which a dead letter is retried; without it, only an operator's command retries it. */
  readonly retryDeadAfterMs?: number;
  /** Epoch milliseconds; by the clock of the store when absent. */
  readonly now?: () => number;
  /** Within [0, 1). */
  readonly random?: () => number;
}

/** Works on the records of one collection. Each record has at most one worker at a time, across all processes. */
export interface Queue<T extends JobRecord> {
  readonly collection: Collection<T>;
  /** Starts working. If no other process uses the store, jobs that a dead process held become due at once. */
  begin(): Promise<void>;
  /** Starts all due jobs now and waits for them. For tests, and for work that must be done at a start. */
  runDue(): Promise<void>;
  /** Works on a job immediately, regardless of the concurrency limit; does nothing if another worker holds it. */
  runNow(record: T): Promise<void>;
  /** Works on a job next, whether it is due or not; does nothing if another worker holds it. */
  prompt(id: string): void;
  /** Looks for due jobs soon. A commit to the collection in this process does the same automatically. */
  wake(): void;
  /** Claims no further jobs, and waits until the running ones have ended or were handed back. */
  close(): Promise<void>;
}

const LEASE_MS = 30_000;
const MAX_FAILURES = 12;
/** With `BACKOFF`, an outage of a week, as long as outboxes keep their events. */
const MAX_WAITS = 1_000;
const BACKOFF: Backoff = { firstMs: 5_000, maxMs: 600_000 };
/** Number of records that one query reads. */
const PAGE = 100;

export async function openQueue<T extends JobRecord>(options: QueueOptions<T>): Promise<Queue<T>> {
  const { store, spec } = options;
  const collection = await store.collection(spec.collection);
  return new CollectionQueue(collection, options, observeQueue(spec, collection));
}

class CollectionQueue<T extends JobRecord> implements Queue<T> {
  private readonly running = new Map<string, Promise<void>>();
  private readonly runningOf = new Map<string, number>();
  /** Ids of jobs to work on next, due or not. */
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
    const { store, spec, leaseMs = LEASE_MS, now = () => store.now() } = options;
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

  /** Starts due jobs up to the concurrency limit. Returns when the next job is due, in epoch milliseconds. */
  private async look(): Promise<number | undefined> {
    const first = this.options.pick === undefined ? await this.nextAfter('') : 0;
    // An idle queue asks nothing else.
    if (this.prompted.size === 0 && (first === undefined || first > this.now())) return first;
    // Starting jobs takes time, so the next job may become due while they start.
    const from = timestamp(this.now());
    await this.startDue();
    return this.nextAfter(from);
  }

  /** Returns when the first job is due after a time in RFC 3339, in epoch milliseconds; undefined if none is. */
  private async nextAfter(time: string): Promise<number | undefined> {
    const { spec } = this.options;
    const [next] = await this.collection.find({ where: whereDue(spec, { gt: time }), sort: [spec.due], limit: 1 });
    return next && Date.parse(dueAt(spec, next) as string);
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
      // Fewer jobs than there is room for are all that are due.
      if (pick !== undefined || picked.length < room) return;
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

  /** Returns the due jobs that have waited the longest. Skips jobs of a group that is at its limit. */
  private async pickDue(room: number): Promise<T[]> {
    const { due } = this.options.spec;
    const where = whereDue(this.options.spec, { lte: timestamp(this.now()) });
    const found: T[] = [];
    for (let after: Scalar[] | undefined; ; ) {
      const page = await this.collection.find({ where, sort: [due], limit: PAGE, ...(after && { after }) });
      found.push(...page.filter((record) => this.hasRoomFor(record)));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE || found.length >= room) return found;
      after = [dueAt(this.options.spec, last) as string, last.id];
    }
  }

  private hasRoomFor(record: T): boolean {
    const { concurrency, group } = this.options;
    if (this.running.has(record.id) || this.running.size >= concurrency) return false;
    return group === undefined || (this.runningOf.get(group.of(record)) ?? 0) < group.concurrency;
  }

  private start(record: T): Promise<void> {
    const key = this.options.group?.of(record) ?? '';
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

  /** Makes a job due again that its worker has not ended, unless another unit of work has ended its record. */
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
    const counts = this.countFailure(hold.record, error);
    const { failures, waits } = counts;
    const waited = waits > (hold.record.waits ?? 0);
    const isOver = (!waited && failures - waits >= maxFailures) || (this.options.isFinal?.(error) ?? false);
    const about = { queue: spec.name, job_id: hold.record.id, job: spec.describe(hold.record), failures, waits, error };
    if (!isOver) {
      log.warn('job.failed', about);
      await hold.fail({ ...counts, retryMs: backoffMs(backoff, failures, (this.options.random ?? Math.random)()) });
      return 'failed';
    }
    log.error('job.given_up', about);
    try {
      await this.options.onGivenUp?.(hold, error);
    } catch (ending) {
      if (!hold.isHeld) throw ending;
      // The owner's records could not be written, so ending the job is retried after the maximum backoff.
      log.error('job.not_ended', { ...about, error: ending });
      await hold.fail({ ...counts, retryMs: backoff.maxMs });
      return 'given_up';
    }
    if (!hold.isHeld) return 'given_up';
    const dead = { at: hold.record.deadAt ?? timestamp(this.now()), ...describeError(error) };
    await hold.fail({ ...counts, dead, ...(retryDeadAfterMs !== undefined && { retryMs: retryDeadAfterMs }) });
    return 'given_up';
  }

  /** Returns the counts of a job's consecutive failures after another one. */
  private countFailure({ failures = 0, waits = 0 }: T, error: unknown): { failures: number; waits: number } {
    const { maxWaits = MAX_WAITS, isPassing = passesByDefault } = this.options;
    return { failures: failures + 1, waits: waits < maxWaits && isPassing(error) ? waits + 1 : waits };
  }

  /** Makes jobs due that a dead process held, or all waiting jobs with `allDueAtStart`. */
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

function passesByDefault(error: unknown): boolean {
  return isUnavailable(error) || error instanceof LostRace;
}

const MAX_MESSAGE_LENGTH = 500;

function describeError(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'unknown', message: String(error).slice(0, MAX_MESSAGE_LENGTH) };
  const { reason, code, name, message } = error as Error & { reason?: unknown; code?: unknown };
  const stableCode = [reason, code].find((one) => typeof one === 'string');
  return { code: (stableCode as string | undefined) ?? name, message: message.slice(0, MAX_MESSAGE_LENGTH) };
}
