import { LostRace, type UnitOfWork } from '@commonplace/kit/store';
import type { ImportParts } from '../parts.js';
import type { ImportRecord } from '../stores/records.js';

/** Milliseconds that a worker holds an import for without saying so again, and after which it says so. */
export const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

/** The import was removed meanwhile, or another worker has it: nothing more is to be done. */
export class ImportLost extends Error {}

/** An import that this worker has, as it stands. */
export interface Hold {
  readonly record: ImportRecord;
  /**
   * Changes the record, with what `also` writes in the same unit. Rejects with ImportLost where somebody else has
   * changed it.
   */
  save(
    change: (record: ImportRecord) => Partial<ImportRecord>,
    also?: (work: UnitOfWork) => Promise<void>,
  ): Promise<void>;
  /** Says no more that the worker is there. */
  end(): Promise<void>;
}

/** Holds an import that was leased. */
export function holdImport(parts: ImportParts, leased: ImportRecord): Hold {
  let record = leased;
  let lost = false;
  let last: Promise<void> = Promise.resolve();

  async function write(
    change: (record: ImportRecord) => Partial<ImportRecord>,
    also?: (work: UnitOfWork) => Promise<void>,
  ): Promise<void> {
    if (lost) throw new ImportLost();
    const work = parts.store.begin();
    const leaseUntil = new Date(Date.now() + LEASE_MS).toISOString();
    const after = work.replace(parts.imports, record, { ...record, leaseUntil, ...change(record) });
    await also?.(work);
    try {
      await work.commit();
      record = after;
    } catch (error) {
      if (!(error instanceof LostRace) || error.id !== record.id) throw error;
      lost = true;
      throw new ImportLost();
    }
  }

  const save: Hold['save'] = (change, also) => {
    const done = last.then(() => write(change, also));
    last = done.catch(() => {});
    return done;
  };
  const timer = setInterval(() => void save(() => ({})).catch(() => {}), RENEW_MS);
  timer.unref();
  return {
    get record() {
      return record;
    },
    save,
    async end() {
      clearInterval(timer);
      await last;
    },
  };
}
