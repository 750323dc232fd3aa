import { unbounded } from '../deadline/index.js';
import { Unavailable } from '../errors/index.js';
import { fingerprint } from '../id/index.js';
import {
  type Collection,
  type CollectionSpec,
  LostRace,
  type Store,
  type StoredRecord,
  type UnitOfWork,
} from '../store/port.js';

/** A rate: `count` attempts at once within a window. */
export interface Rate {
  readonly count: number;
  readonly windowMs: number;
  /**
   * How used attempts become available again. `gradually`: one every `windowMs / count`. `together`: all of them
   * `windowMs` after the first, so that a caller who has used all of them waits longer.
   */
  readonly comesBack: 'gradually' | 'together';
}

/** A rate that one attempt counts against. */
export interface Claim {
  /** The subject of the rate; stored as a hash. */
  readonly key: readonly string[];
  readonly rate: Rate;
  /** Id of the tenant that owns the count; absent if no tenant does. */
  readonly tenant?: string;
}

/** The count of one key. */
export interface UsageRecord extends StoredRecord {
  /** Time at which all used attempts are available again. */
  readonly until: string;
  /** Number of used attempts that become available together. */
  readonly used?: number;
}

export function usageCollection(name: string): CollectionSpec<UsageRecord> {
  return { name, indexes: [{ fields: ['until'] }] };
}

export type Reservation =
  | {
      readonly granted: true;
      /** Number of attempts that each claim has left, in the order of the claims. */
      readonly left: readonly number[];
      /** Releases the reserved attempt. */
      release(): Promise<void>;
    }
  | {
      readonly granted: false;
      /** The claim that has no attempt left. */
      readonly claim: Claim;
      readonly retryAfterSeconds: number;
    };

/**
 * A rate limit whose counts are stored, so that it applies to all replicas of a service together. An attempt is
 * reserved before it is made, so no more attempts are granted than the rate allows, regardless of concurrency.
 */
export interface StoredLimit {
  /** Counts one attempt against every claim, or against none if one of them has no attempt left. */
  reserve(claims: readonly Claim[]): Promise<Reservation>;
  /**
   * Takes several attempts of one rate for a process that counts them itself. Their window ends for all at once, as
   * with `together`. A process gets at most a quarter of what is left, so that it does not reserve attempts that other
   * processes need.
   */
  reserveBatch(claim: Omit<Claim, 'tenant'>, wanted: WantedBatch): Promise<ReservedBatch>;
  /** Deletes counts that are back to zero. */
  dropDrained(): Promise<void>;
}

interface WantedBatch {
  readonly wanted: number;
  /** Attempts that were made before they were taken; they count even beyond the rate. */
  readonly spent: number;
}

/** Attempts that one process may make until the window ends. */
interface ReservedBatch {
  readonly granted: number;
  /** Number of attempts that are left for all processes. */
  readonly left: number;
  /** Milliseconds until the window ends. */
  readonly resetMs: number;
}

interface StoredLimitParts {
  readonly store: Store;
  readonly records: Collection<UsageRecord>;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Whether all attempts of a process run sequentially, because their claims may overlap in any way; false when absent.
   */
  readonly oneQueue?: boolean;
}

/** Maximum number of changes in one commit, and of tries against concurrent processes. */
const MAX_BATCH_CHANGES = 256;
const MAX_TRIES = 30;
const DROP_BATCH = 500;

type Change = (work: UnitOfWork) => Promise<unknown>;

interface Waiting {
  readonly change: Change;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export function createStoredLimit({ store, records, now, oneQueue = false }: StoredLimitParts): StoredLimit {
  const queues = new Map<string, Waiting[]>();

  /** Commits changes, applied sequentially, as one unit of work; tries again if another process was faster. */
  async function commit(changes: readonly Change[]): Promise<unknown[]> {
    for (let tries = 1; ; tries++) {
      const work = store.begin();
      const results: unknown[] = [];
      for (const change of changes) results.push(await change(work));
      if (!work.dirty) return results;
      try {
        await work.commit();
        return results;
      } catch (error) {
        if (!(error instanceof LostRace)) throw error;
        if (tries === MAX_TRIES) throw Unavailable({}, { retryAfter: 1, cause: error });
        await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** tries, 100)));
      }
    }
  }

  async function drain(key: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, MAX_BATCH_CHANGES);
      try {
        const results = await commit(batch.map(({ change }) => change));
        for (const [i, { resolve }] of batch.entries()) resolve(results[i]);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    queues.delete(key);
  }

  /**
   * Changes the counts of claims. Changes for the last, widest claim that arrive during a commit share the next one, so
   * that a flood of attempts against one key causes few commits.
   */
  function inTurn<T>(claims: readonly Claim[], change: (work: UnitOfWork) => Promise<T>): Promise<T> {
    const widest = claims.at(-1);
    const key = oneQueue || widest === undefined ? '' : idOf(widest);
    return new Promise<T>((resolve, reject) => {
      const waiting = { change, resolve: resolve as Waiting['resolve'], reject };
      const queue = queues.get(key);
      if (queue !== undefined) {
        queue.push(waiting);
        return;
      }
      const fresh = [waiting];
      queues.set(key, fresh);
      // A commit serves several calls, so the deadline of the first call must not end it.
      void unbounded(() => drain(key, fresh));
    });
  }

  const release = (claims: readonly Claim[]) =>
    inTurn(claims, async (work) => {
      for (const claim of claims) {
        const known = await work.get(records, idOf(claim));
        const after = known && usageWithout(claim.rate, known, now());
        if (known !== undefined && after !== undefined) work.replace(records, known, { ...known, ...after });
        else if (known !== undefined) work.remove(records, known);
      }
    });

  return {
    reserve: (claims) =>
      inTurn(claims, async (work): Promise<Reservation> => {
        const known = await Promise.all(claims.map((claim) => work.get(records, idOf(claim))));
        const at = now();
        const afters = claims.map(({ rate }, i) => usageWith(rate, known[i], at));
        const over = afters.findIndex(({ waitMs }) => waitMs > 0);
        const refused = claims[over];
        if (refused !== undefined) {
          const retryAfterSeconds = Math.max(1, Math.ceil((afters[over] as Use).waitMs / 1000));
          return { granted: false, claim: refused, retryAfterSeconds };
        }
        for (const [i, claim] of claims.entries()) {
          const before = known[i];
          const { usage } = afters[i] as Use;
          if (before === undefined) work.insert(records, { id: idOf(claim), ...tenantOf(claim), ...usage });
          else work.replace(records, before, { ...before, ...usage });
        }
        return { granted: true, left: afters.map(({ left }) => left), release: () => release(claims) };
      }),

    reserveBatch: (claim, wanted) =>
      inTurn([claim], async (work) => {
        const id = idOf(claim);
        const known = await work.get(records, id);
        const { usage, batch } = batchOf(claim.rate, known, wanted, now());
        if (known === undefined) work.insert(records, { id, ...usage });
        else if (known.used !== usage.used || known.until !== usage.until)
          work.replace(records, known, { ...known, ...usage });
        return batch;
      }),

    async dropDrained() {
      const at = new Date(now()).toISOString();
      for (;;) {
        const drained = await records.find({
          where: { until: { lte: at } },
          sort: ['until'],
          limit: DROP_BATCH,
        });
        if (drained.length === 0) return;
        const work = store.begin();
        for (const record of drained) work.remove(records, record);
        try {
          await work.commit();
        } catch (error) {
          // One of the counts is in use again; the next round deletes the others.
          if (error instanceof LostRace) return;
          throw error;
        }
        if (drained.length < DROP_BATCH) return;
      }
    },
  };
}

const idOf = ({ key }: Claim): string => fingerprint(...key);
const tenantOf = ({ tenant }: Claim) => (tenant === undefined ? {} : { tenant });

type Usage = Pick<UsageRecord, 'until' | 'used'>;

/** One more attempt: the count to store, or the time to wait. */
interface Use {
  readonly usage: Usage;
  readonly left: number;
  /** 0 if the attempt is within the rate. */
  readonly waitMs: number;
}

function usageWith(rate: Rate, known: Usage | undefined, at: number): Use {
  const rest = Math.max(0, known === undefined ? 0 : Date.parse(known.until) - at);
  if (rate.comesBack === 'together') {
    const used = (rest === 0 ? 0 : (known?.used ?? rate.count)) + 1;
    const usage = { used, until: isoOf(at + (rest === 0 ? rate.windowMs : rest)) };
    return { usage, left: rate.count - used, waitMs: used > rate.count ? rest : 0 };
  }
  const used = rest + intervalOf(rate);
  const left = Math.floor(rate.count - used / intervalOf(rate));
  return { usage: { until: isoOf(at + used) }, left, waitMs: Math.max(0, used - intervalOf(rate) * rate.count) };
}

/** Share of what is left that one process gets at a time. */
const BATCH_SHARE = 1 / 4;

function batchOf(
  { count, windowMs }: Rate,
  known: Usage | undefined,
  { wanted, spent }: WantedBatch,
  at: number,
): { usage: Usage; batch: ReservedBatch } {
  const rest = Math.max(0, known === undefined ? 0 : Date.parse(known.until) - at);
  const used = (rest === 0 ? 0 : (known?.used ?? count)) + spent;
  const left = Math.max(0, count - used);
  const granted = Math.min(wanted, Math.ceil(left * BATCH_SHARE));
  const resetMs = rest === 0 ? windowMs : rest;
  const until = rest === 0 || known === undefined ? isoOf(at + windowMs) : known.until;
  return { usage: { used: used + granted, until }, batch: { granted, left: left - granted, resetMs } };
}

/** Returns the count after one attempt was released; undefined if nothing is left to store. */
function usageWithout(rate: Rate, { until, used = 0 }: Usage, at: number): Usage | undefined {
  const end = Date.parse(until);
  if (rate.comesBack === 'together') return used <= 1 || end <= at ? undefined : { until, used: used - 1 };
  const sooner = end - intervalOf(rate);
  return sooner <= at ? undefined : { until: isoOf(sooner) };
}

/** Returns the milliseconds after which one attempt becomes available again. */
const intervalOf = (rate: Rate): number => Math.ceil(rate.windowMs / rate.count);

const isoOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
