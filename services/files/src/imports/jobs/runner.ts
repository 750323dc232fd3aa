import { AppError } from '@commonplace/kit/errors';
import { LostRace } from '@commonplace/kit/store';
import type { ImportParts } from '../parts.js';
import { ImportFault } from '../sources/port.js';
import type { ImportRecord } from '../stores/records.js';
import { failImport } from './finish.js';
import { type Hold, holdImport, ImportLost, LEASE_MS } from './hold.js';
import { nextQueued } from './queue.js';
import { removeImports } from './remove.js';
import { runImport } from './run.js';

export interface ImportRunner {
  /** Looks for imports each second, after taking back what an earlier process of this folder has left. */
  begin(): Promise<void>;
  /** Looks soon. */
  wake(): void;
  /** Stops between two batches; what is left goes on elsewhere, or after the next start. */
  close(): Promise<void>;
}

const LOOK_MS = 1000;
/** Milliseconds until an import is tried again whose services were out of reach, and how often it is. */
const AGAIN_MS = 5_000;
const MOST_TRIES = 10;

class Stopped extends Error {}

/** Works on imports, several at a time, in turns between tenants. */
export function createImportRunner(parts: ImportParts): ImportRunner {
  const running = new Map<string, Promise<void>>();
  const tries = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let closed = false;

  const stopped = () => {
    if (closed) throw new Stopped();
  };

  async function work(hold: Hold): Promise<void> {
    const { id } = hold.record;
    try {
      await runImport(parts, hold, stopped);
      tries.delete(id);
    } catch (error) {
      await settle(hold, error);
    } finally {
      await hold.end();
    }
  }

  async function settle(hold: Hold, error: unknown): Promise<void> {
    const { id } = hold.record;
    if (error instanceof ImportLost) return;
    if (error instanceof Stopped || closed) return leaveUntil(hold, 0);
    const again = (tries.get(id) ?? 0) + 1;
    if (isPassing(error) && again < MOST_TRIES) {
      tries.set(id, again);
      parts.log.warn('import.interrupted', { import_id: id, error });
      return leaveUntil(hold, AGAIN_MS);
    }
    tries.delete(id);
    if (!(error instanceof ImportFault)) parts.log.error('import.failed', { import_id: id, error });
    await failImport(parts, hold, faultOf(error)).catch((lost) => {
      if (!(lost instanceof ImportLost)) throw lost;
    });
  }

  function start(record: ImportRecord): void {
    const done = lease(parts, record)
      .then((leased) => (leased === undefined ? undefined : work(holdImport(parts, leased))))
      .catch((error) => parts.log.error('import.lost', { import_id: record.id, error }))
      .finally(() => {
        running.delete(record.id);
        wake();
      });
    running.set(record.id, done);
  }

  async function look(): Promise<void> {
    await removeImports(parts);
    const room = () => parts.settings.importWorkers - running.size;
    if (room() <= 0) return;
    const now = new Date().toISOString();
    const where = { status: 'running', leaseUntil: { lte: now } } as const;
    const left = await parts.imports.find({ where, sort: ['leaseUntil'], limit: room() });
    for (const record of left) if (!running.has(record.id) && !closed) start(record);
    while (room() > 0 && !closed) {
      const next = await nextQueued(parts, [...running.keys()]);
      if (next === undefined) return;
      start(next);
    }
  }

  function wake(): void {
    if (closed || looking !== undefined || timer === undefined) return;
    looking = look()
      .catch((error) => parts.log.error('imports.look_failed', { error }))
      .finally(() => {
        looking = undefined;
      });
  }

  return {
    async begin() {
      if (parts.settings.importWorkers === 0) return;
      if (parts.bytes.exclusive) await takeBack(parts);
      timer = setInterval(wake, LOOK_MS);
      timer.unref();
      wake();
    },
    wake: () => void setImmediate(wake),
    async close() {
      closed = true;
      clearInterval(timer);
      await looking;
      await Promise.all(running.values());
    },
  };
}

function leaveUntil(hold: Hold, ms: number): Promise<void> {
  const leaseUntil = new Date(Date.now() + ms).toISOString();
  return hold.save(() => ({ leaseUntil })).catch(() => {});
}

/** Whether a failure may pass by itself. */
function isPassing(error: unknown): boolean {
  if (error instanceof ImportFault) return false;
  if (error instanceof LostRace) return true;
  return error instanceof AppError && (error.code === 'UNAVAILABLE' || error.code === 'DEADLINE_EXCEEDED');
}

function faultOf(error: unknown): ImportFault {
  if (error instanceof ImportFault) return error;
  if (error instanceof AppError && error.code !== 'INTERNAL') return new ImportFault(error.reason, error.message, true);
  return new ImportFault('internal_error', 'Something went wrong on our side.', true, { cause: error });
}

/** Takes an import for this process; undefined where another was faster. */
async function lease(parts: ImportParts, record: ImportRecord): Promise<ImportRecord | undefined> {
  const work = parts.store.begin();
  const now = new Date().toISOString();
  const leaseUntil = new Date(Date.now() + LEASE_MS).toISOString();
  const startedAt = record.startedAt ?? now;
  const leased = work.replace(parts.imports, record, { ...record, status: 'running', startedAt, leaseUntil });
  try {
    await work.commit();
    return leased;
  } catch (error) {
    if (error instanceof LostRace) return undefined;
    throw error;
  }
}

/** What a process held that is gone; only where there is no other process than this one. */
async function takeBack(parts: ImportParts): Promise<void> {
  const now = new Date().toISOString();
  const where = { status: 'running', leaseUntil: { gt: now } } as const;
  for (const record of await parts.imports.find({ where, sort: ['leaseUntil'], limit: 1000 })) {
    const work = parts.store.begin();
    work.replace(parts.imports, record, { ...record, leaseUntil: now });
    await work.commit();
  }
}
