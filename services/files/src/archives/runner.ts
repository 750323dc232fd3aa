import { createPeriodic, type HeldJob, openQueue, type Periodic, type Queue } from '@commonplace/kit/jobs';
import { removeAll } from '@commonplace/kit/store';
import { isAccessLost } from '@commonplace/platform/acting';
import { isOverQuota } from '../storage/quota.js';
import { expireArchives } from './expire.js';
import { runExport } from './export.js';
import type { ArchiveParts } from './parts.js';
import { type ArchiveRecord, archiveKey, archiveQueue } from './records.js';
import { releaseArchive } from './room.js';

/** Exports that a process runs concurrently. */
const CONCURRENCY = 2;
/**
 * An export fails after 8 consecutive failures. Failures because something is unavailable are counted separately: it
 * fails after 22 of them, which take 20 minutes.
 */
const [MAX_FAILURES, MAX_WAITS] = [8, 22];
const BACKOFF = { firstMs: 5_000, maxMs: 60_000 };
const EXPIRY_INTERVAL_MS = 60_000;

/** Opens the queue that runs exports. */
export function openArchiveQueue(parts: ArchiveParts): Promise<Queue<ArchiveRecord>> {
  return openQueue<ArchiveRecord>({
    store: parts.store,
    log: parts.log,
    spec: archiveQueue,
    concurrency: CONCURRENCY,
    maxFailures: MAX_FAILURES,
    maxWaits: MAX_WAITS,
    backoff: BACKOFF,
    onClaim: (_, { attempt, startedAt = new Date().toISOString() }) => ({
      status: 'running',
      startedAt,
      attempt: attempt + 1,
    }),
    run: (job) => runExport(parts, job),
    isFinal: (error) => isAccessLost(error) || isOverQuota(error),
    onGivenUp: (job, error) => failExport(parts, job, error),
  });
}

/** Deletes the bytes of expired exports periodically. */
export function createArchiveExpiry(parts: ArchiveParts): Periodic {
  const { log } = parts;
  return createPeriodic({
    name: 'files.archive_expiry',
    everyMs: EXPIRY_INTERVAL_MS,
    log,
    run: () => expireArchives(parts),
  });
}

const NO_ROOM =
  'There is not enough storage for the export. Exports and import sources share COMMONPLACE_TEMPORARY_STORAGE_BYTES; exports expire.';

function faultOf(error: unknown): NonNullable<ArchiveRecord['error']> {
  if (isOverQuota(error)) return { code: 'storage_quota_exceeded', message: NO_ROOM, retryable: true };
  if (!isAccessLost(error)) {
    return { code: 'internal_error', message: 'The export could not be written. Request it again.', retryable: true };
  }
  const message = 'The person who requested the export no longer administers the workspace.';
  return { code: 'access_lost', message, retryable: false };
}

/** Marks an export as failed and deletes what it has written. */
async function failExport(parts: ArchiveParts, job: HeldJob<ArchiveRecord>, error: unknown): Promise<void> {
  const { id } = job.record;
  const finishedAt = new Date().toISOString();
  const change = { status: 'failed', heldBytes: undefined, error: faultOf(error), finishedAt, activeKey: undefined };
  await job.finish(change as Partial<ArchiveRecord>, (work, record) => releaseArchive(parts, work, record));
  // The bytes are deleted only now, because another worker may have taken over the export and completed it.
  if (job.record.upload !== undefined) await parts.bytes.abortParts(archiveKey(id), job.record.upload);
  await parts.bytes.delete(archiveKey(id));
  await removeAll(parts.store, parts.archiveSteps, { archiveId: id });
}
