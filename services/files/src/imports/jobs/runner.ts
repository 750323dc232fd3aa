import { AppError } from '@commonplace/kit/errors';
import { openQueue, type Queue } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { BlobMissing } from '../../blobs/port.js';
import type { ImportParts } from '../parts.js';
import { ImportFault } from '../sources/port.js';
import { type ImportRecord, importQueue, type RemovalRecord, removalQueue } from '../stores/records.js';
import { failImport } from './finish.js';
import { nextQueued } from './queue.js';
import { removeImport } from './remove.js';
import { runImport } from './run.js';

/** Failures of an import that do not end it: something that it needs may be unavailable for 20 minutes. */
const MAX_WAITS = 29;
const BACKOFF = { firstMs: 5_000, maxMs: 60_000 };

class Stopped extends Error {}

/** Opens the queue that runs imports, several concurrently, with tenants taking turns. */
export function openImportQueue(parts: ImportParts): Promise<Queue<ImportRecord>> {
  return openQueue<ImportRecord>({
    store: parts.store,
    log: parts.log,
    spec: importQueue,
    concurrency: parts.settings.importWorkers,
    maxFailures: 1,
    maxWaits: MAX_WAITS,
    backoff: BACKOFF,
    pick: (room, running) => pick(parts, room, running),
    onClaim: (work, record) => claim(parts, work, record),
    run: (job) =>
      runImport(parts, job, () => {
        if (job.isStopping) throw new Stopped();
      }),
    onGivenUp: (job, error) => failImport(parts, job, faultOf(error)),
  });
}

/** Opens the queue that deletes what removed imports leave behind. */
export function openRemovalQueue(parts: ImportParts): Promise<Queue<RemovalRecord>> {
  const { store, log } = parts;
  return openQueue<RemovalRecord>({
    ...{ store, log, spec: removalQueue, concurrency: 1, maxWaits: Number.POSITIVE_INFINITY },
    run: (job) => removeImport(parts, job),
  });
}

/** Returns interrupted imports first, and otherwise the import whose turn it is. */
async function pick(parts: ImportParts, room: number, running: ReadonlySet<string>): Promise<readonly ImportRecord[]> {
  const where = { status: 'running', leaseUntil: { lte: new Date(parts.store.now()).toISOString() } } as const;
  const due = await parts.imports.find({ where, sort: ['leaseUntil'], limit: room + running.size });
  const interrupted = due.filter(({ id }) => !running.has(id)).slice(0, room);
  if (interrupted.length > 0) return interrupted;
  const next = await nextQueued(parts, [...running]);
  return next === undefined ? [] : [next];
}

/**
 * Counts a queued import as running. Returns undefined when other processes have reached the workspace's limit
 * meanwhile.
 */
async function claim(
  parts: ImportParts,
  work: UnitOfWork,
  record: ImportRecord,
): Promise<Partial<ImportRecord> | undefined> {
  const { status, workspaceId, startedAt = new Date().toISOString() } = record;
  try {
    if (status === 'queued') await parts.importQuotas.running.reserve(work, workspaceId);
    return { status: 'running', startedAt };
  } catch (error) {
    if (error instanceof AppError && error.reason === 'limit_reached') return undefined;
    throw error;
  }
}

function faultOf(error: unknown): ImportFault {
  if (error instanceof ImportFault) return error;
  if (error instanceof BlobMissing) return new ImportFault('bytes_missing', error.message);
  if (error instanceof AppError && error.code !== 'INTERNAL') return new ImportFault(error.reason, error.message, true);
  return new ImportFault('internal_error', 'Something went wrong on our side.', true, { cause: error });
}
