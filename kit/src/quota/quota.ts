import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/index.js';
import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '../store/index.js';

/** A slot of a quota: an upper bound on how much of its share of the limit is used. */
interface QuotaRecord extends StoredRecord {
  readonly used: number;
}

export const quotaCollection: CollectionSpec<QuotaRecord> = { name: 'quotas', indexes: [] };

export interface QuotaTerms {
  /** Identifies the quota in its records. */
  readonly name: string;
  readonly limit: number;
  /**
   * Number of records that share the limit, so that concurrent reservations do not wait for a single record; 1 when
   * absent.
   */
  readonly slots?: number;
  /** Counts what exists under a key, including reservations for jobs that have not created it yet. */
  readonly count: (key: string) => Promise<number>;
  /** Creates the error that is thrown if the quota is exhausted. */
  readonly refuse: (limit: number) => Error;
}

/** A limit on the number of things under a key. */
export interface Quota {
  /**
   * Reserves `amount` under a key, in the unit of work that creates the things: of units that commit at once, no more
   * take effect than fit. Throws if the quota is exhausted. `seed` selects the slot.
   */
  reserve(work: UnitOfWork, key: string, amount?: number, seed?: string): Promise<void>;
}

/** Milliseconds for which a slot is used without reading it, while much of the quota is free. */
const HINT_MS = 30_000;
/** Free amount per slot below which all slots are read at each reservation. */
const PLENTY = 64;

/**
 * Creates a quota. Nothing has to be released: `used` is an upper bound, which is recounted when it reaches the limit.
 * The limit is divided among the slots, and each slot grows only within its own share, so that their sum never exceeds
 * the limit. A recount is only written if no slot has changed since before the count.
 */
export function createQuota(records: Collection<QuotaRecord>, terms: QuotaTerms): Quota {
  const { limit, slots = 1 } = terms;
  const numbers = Array.from({ length: slots }, (_, slot) => slot);
  const shares = spread(limit, slots);
  const hints = new LRUCache<string, { left: number }>({ ...maxEntries(50_000), ttl: HINT_MS, ttlResolution: 100 });
  const pending = new WeakMap<UnitOfWork, Map<string, number>>();
  const idOf = (key: string, slot: number) => `${terms.name}:${key}:${slot}`;

  function add(work: UnitOfWork, key: string, slot: number, amount: number): void {
    const atMost = shares[slot] ?? 0;
    work.incrementWithin(records, idOf(key, slot), 'used', amount, { atMost }, () => void hints.delete(key));
  }

  /** Returns whether so much was free recently that the slot need not be read. */
  function takeHint(key: string, amount: number): boolean {
    const hint = hints.get(key);
    if (hint === undefined || hint.left < amount * slots) return false;
    hint.left -= amount;
    return true;
  }

  async function readSlots(work: UnitOfWork, key: string): Promise<(QuotaRecord | undefined)[]> {
    return Promise.all(numbers.map((slot) => work.get(records, idOf(key, slot))));
  }

  async function recount(
    work: UnitOfWork,
    key: string,
    found: readonly (QuotaRecord | undefined)[],
    amount: number,
  ): Promise<void> {
    const counted = (await terms.count(key)) + (pending.get(work)?.get(key) ?? 0);
    if (counted + amount > limit) throw terms.refuse(limit);
    for (const [slot, used] of spread(counted + amount, slots).entries()) {
      const before = found[slot];
      const id = idOf(key, slot);
      if (before === undefined) {
        work.insert(records, { id, used });
        continue;
      }
      // Increments do not change the version, so the number must also be the same.
      work.incrementWithin(records, id, 'used', 0, { atLeast: before.used, atMost: before.used });
      work.replace(records, before, { id, used });
    }
  }

  /** Reserves in the slots with free amounts, starting with the preferred one. */
  function addWhereFree(work: UnitOfWork, key: string, free: readonly number[], amount: number, first: number): void {
    let left = amount;
    for (const at of numbers) {
      const slot = (first + at) % slots;
      const part = Math.min(left, free[slot] ?? 0);
      if (part > 0) add(work, key, slot, part);
      left -= part;
    }
  }

  return {
    async reserve(work, key, amount = 1, seed) {
      if (amount <= 0) return;
      const first = seed === undefined ? Math.floor(Math.random() * slots) : seed.charCodeAt(seed.length - 1) % slots;
      if (takeHint(key, amount)) add(work, key, first, amount);
      else {
        const found = await readSlots(work, key);
        const free = numbers.map((slot) => (shares[slot] ?? 0) - (found[slot]?.used ?? 0));
        const room = free.reduce((sum, one) => sum + one, 0);
        const isWhole = found.every((record) => record !== undefined) && free.every((one) => one >= 0);
        if (!isWhole || room < amount) await recount(work, key, found, amount);
        else {
          addWhereFree(work, key, free, amount, first);
          // What this unit has written itself may not be committed when the next unit reads it.
          const isCommitted = pending.get(work)?.has(key) !== true;
          if (isCommitted && room >= PLENTY * slots) hints.set(key, { left: Math.floor(room / 2) });
        }
      }
      const mine = pending.get(work) ?? new Map<string, number>();
      pending.set(work, mine.set(key, (mine.get(key) ?? 0) + amount));
    },
  };
}

/** Splits an amount into parts that differ by at most one, the larger ones first. */
function spread(amount: number, parts: number): number[] {
  const [least, larger] = [Math.floor(amount / parts), amount % parts];
  return Array.from({ length: parts }, (_, at) => least + (at < larger ? 1 : 0));
}
