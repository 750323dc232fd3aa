import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import { type Upload, uploadQueue } from '../storage/records.js';
import { completeUpload, missingParts } from './complete.js';
import { fetchUpload } from './fetcher.js';
import { failUpload } from './finish.js';
import type { UploadParts } from './parts.js';
import { refusedWriter } from './writer.js';

/** Uploads that a process handles concurrently, not counting those that requests start. */
const CONCURRENCY = 4;
const LEASE_MS = 60_000;
const BACKOFF = { firstMs: 30_000, maxMs: 120_000 };

/** Opens the queue that fetches from URLs and completes uploads whose bytes arrived without this process noticing. */
export function openUploadQueue(
  parts: Pick<UploadParts, 'store' | 'log'> & { partsOf(): UploadParts },
): Promise<Queue<Upload>> {
  return openQueue<Upload>({
    store: parts.store,
    log: parts.log,
    spec: uploadQueue,
    concurrency: CONCURRENCY,
    leaseMs: LEASE_MS,
    // An upload waits for the bucket until it expires.
    maxWaits: Number.POSITIVE_INFINITY,
    backoff: BACKOFF,
    // The last part may have arrived just before the process died.
    allDueAtStart: true,
    onClaim: (_, { attempts }) => ({ attempts: attempts + 1 }),
    run: (job) => (job.record.how === 'fetch' ? fetchUpload : completeWhenLanded)(parts.partsOf(), job),
    onGivenUp: ({ record }) => failUpload(parts.partsOf(), record, NOT_STORED),
  });
}

/** Milliseconds until bytes that may not be written are looked at again. */
const REFUSED_MS = 300_000;

const NOT_STORED = { code: 'internal_error', message: 'The bytes could not be stored. Upload them again.' };

/**
 * Completes an upload once its bytes are in the bucket. A bucket sends no notification, so it is polled, with growing
 * intervals.
 */
async function completeWhenLanded(parts: UploadParts, job: HeldJob<Upload>): Promise<void> {
  const { record } = job;
  const nothing = parts.bytes.exclusive && record.how === 'single';
  const hasLanded = !nothing && (await missingParts(parts, record)) === 0;
  // Bytes that may not become a version now wait until they may, or until the upload expires.
  if (hasLanded && (await refusedWriter(parts, record)) !== undefined) await job.retryIn(REFUSED_MS);
  else if (hasLanded) await completeUpload(parts, record);
  else await job.retryIn(parts.bytes.exclusive ? 300_000 : pauseMs(record));
}

function pauseMs({ createdAt }: Upload): number {
  const age = Date.now() - Date.parse(createdAt);
  return age < 60_000 ? 2_000 : age < 600_000 ? 10_000 : 60_000;
}
