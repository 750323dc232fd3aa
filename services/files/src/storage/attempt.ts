import { derivedId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import type { StorageParts } from './parts.js';
import { releaseBytes, reserveBytes } from './quota.js';
import type { Intent, Reservation } from './records.js';

/**
 * Commits a record of what is about to be done, before any of it happens, and reserves the bytes that it needs. `forMs`
 * is the longest time in milliseconds that the attempt may take. When a rerun of the same request begins the same
 * attempt again, nothing is reserved a second time.
 */
export async function beginAttempt(
  parts: StorageParts,
  about: Pick<Intent, 'fileId' | 'revision' | 'blobId'>,
  forMs: number,
  reservation?: Reservation,
): Promise<Intent> {
  const until = new Date(Date.now() + forMs).toISOString();
  const { fileId, revision, blobId } = about;
  const { process } = parts;
  const id = attemptId(about);
  const reserved = parts.settings.storageQuotaBytes === undefined || !reservation?.bytes ? undefined : reservation;
  return inWork(parts.store, async (work) => {
    const present = await work.get(parts.intents, id);
    if (present !== undefined) return work.replace(parts.intents, present, { ...present, process, until });
    if (reserved !== undefined) await reserveBytes(parts, work, reserved);
    return work.insert(parts.intents, {
      id,
      fileId,
      revision,
      blobId,
      process,
      until,
      ...(reserved !== undefined && { reserved }),
    });
  });
}

/** Derives the id of an attempt, which is the same for every run of its request. */
export function attemptId({ fileId, revision, blobId }: Pick<Intent, 'fileId' | 'revision' | 'blobId'>): string {
  return derivedId(`attempt:${fileId}:${revision}:${blobId}`);
}

/** Deletes the record of a completed attempt and releases what is still reserved for it. */
export async function endAttempt(parts: StorageParts, intent: Intent): Promise<void> {
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.intents, intent.id);
    if (present === undefined) return;
    work.remove(parts.intents, present);
    if (present.reserved !== undefined) releaseBytes(parts, work, present.reserved);
  });
}

/** Marks an attempt as overdue, so that the next pass of the sweeper cleans up after it. */
export async function leaveAttempt(parts: StorageParts, intent: Intent): Promise<void> {
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.intents, intent.id);
    const until = new Date().toISOString();
    if (present !== undefined) work.replace(parts.intents, present, { ...present, until });
  });
}
