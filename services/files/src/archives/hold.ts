import { LostRace, type UnitOfWork } from '@commonplace/kit/store';
import type { ArchiveParts } from './parts.js';
import type { ArchiveRecord } from './records.js';

/** Milliseconds that a worker holds an export for without saying so again, and after which it says so. */
export const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

/** Another worker has it, or it is gone. */
export class ArchiveLost extends Error {}

/** An export that this worker has, as it stands. */
export interface Hold {
  readonly record: ArchiveRecord;
  /** Changes the record, with what `also` writes in the same unit. Rejects with ArchiveLost. */
  save(change: Partial<ArchiveRecord>, also?: (work: UnitOfWork) => void): Promise<void>;
  /** Says no more that the worker is there. */
  end(): Promise<void>;
}

/** Takes an export for this process; undefined where another was faster. */
export async function holdArchive(parts: ArchiveParts, due: ArchiveRecord): Promise<Hold | undefined> {
  let record = due;
  let last: Promise<void> = Promise.resolve();

  async function write(change: Partial<ArchiveRecord>, also?: (work: UnitOfWork) => void): Promise<void> {
    const work = parts.store.begin();
    const leaseUntil = new Date(Date.now() + LEASE_MS).toISOString();
    const after = work.replace(parts.archives, record, { ...record, leaseUntil, ...change });
    also?.(work);
    try {
      await work.commit();
      record = after;
    } catch (error) {
      if (error instanceof LostRace) throw new ArchiveLost();
      throw error;
    }
  }

  const save: Hold['save'] = (change, also) => {
    const done = last.then(() => write(change, also));
    last = done.catch(() => {});
    return done;
  };
  try {
    const startedAt = due.startedAt ?? new Date().toISOString();
    await save({ status: 'running', startedAt, attempt: due.attempt + 1 });
  } catch (error) {
    if (error instanceof ArchiveLost) return undefined;
    throw error;
  }
  const timer = setInterval(() => void save({}).catch(() => {}), RENEW_MS);
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
