import { counter, gauge } from '@commonplace/kit/telemetry';
import { BlobMissing, type BlobStore } from '../blobs/port.js';
import { ownerOf, parseTrashKey, trashKey } from '../domain/layout.js';
import { isKnown, type KeyRecords } from './known.js';
import type { SweepParts } from './parts.js';
import { type HeldSweep, readSweep, saveSweep } from './sweep.js';

const DAY_MS = 86_400_000;

const held = gauge(
  'files.sweep.held',
  '{object}',
  'Stored objects that no record names and that an operator has to allow to be moved into the trash.',
);
const moved = counter(
  'files.sweep.moved',
  '{object}',
  'Stored objects that no record names and that were moved into the trash.',
);

type OwnerParts = Pick<SweepParts, 'bytes' | 'installationId' | 'holdsStores' | 'log'>;
type OrphanParts = OwnerParts & Pick<SweepParts, 'store' | 'sweeps' | 'ids' | 'settings'> & KeyRecords;

/** Reports the number of objects that wait for an operator as a metric. Returns a function that stops it. */
export function observeHeld({ sweeps }: Pick<SweepParts, 'sweeps'>): () => void {
  return held.observe(async () => [{ attributes: {}, value: (await readSweep(sweeps))?.held ?? 0 }]);
}

/** Checks that the blob store still belongs to this installation; otherwise nothing in it may be deleted. */
export async function ownsBytes({ bytes, installationId, holdsStores, log }: OwnerParts): Promise<boolean> {
  const found = await bytes.installationId();
  if (found === installationId) {
    if (await holdsStores()) return true;
    log.error('files.store_held_by_another', { installation_id: installationId });
    return false;
  }
  log.error('files.foreign_store', { installation_id: installationId, found });
  return false;
}

/**
 * Moves unreferenced bytes to the trash: those that this installation has stored, that are older than the grace period
 * and that no record names. Attempts are recorded before their bytes are stored. When such bytes, of any age, are too
 * large a share of the store, it moves none and waits for an operator: another system with a copy of these records may
 * be storing them. Returns the number of moved objects.
 */
export async function sweepOrphans(parts: OrphanParts, stopped: () => boolean): Promise<number> {
  const { keys, orphans, objects } = await findOrphans(parts, stopped);
  if (stopped()) return 0;
  const before = await readSweep(parts.sweeps);
  if (isTooMany(parts, orphans, objects) && orphans > (before?.allowed ?? 0)) {
    parts.log.error('files.sweep_held', { orphans, objects });
    await saveSweep(parts, { held: orphans, objects, allowed: 0 });
    return 0;
  }
  let count = 0;
  for (const key of keys) {
    if (stopped()) return count;
    if (await moveOrphan(parts, key)) count++;
  }
  if (before !== undefined && (before.held > 0 || before.allowed > 0)) await saveSweep(parts, NOTHING_HELD);
  moved.bind().add(count);
  return count;
}

const NOTHING_HELD: HeldSweep = { held: 0, objects: 0, allowed: 0 };

function isTooMany({ settings }: OrphanParts, orphans: number, objects: number): boolean {
  return orphans > settings.sweepObjects && orphans * 100 > objects * settings.sweepPercent;
}

/**
 * Returns the keys of unreferenced objects that are old enough, the number of those of any age, and the number of all
 * objects.
 */
async function findOrphans(parts: OrphanParts, stopped: () => boolean) {
  const keys: string[] = [];
  let [objects, orphans] = [0, 0];
  const before = Date.now() - parts.settings.sweepGraceDays * DAY_MS;
  for await (const { key, storedAt } of parts.bytes.list('')) {
    if (stopped()) break;
    if (ownerOf(key) === undefined) continue;
    objects++;
    if (!isOwn(parts, key) || (await isKnown(parts, key))) continue;
    orphans++;
    if (storedAt <= before) keys.push(key);
  }
  return { keys, orphans, objects };
}

/** Returns whether this installation has created the id in a key. */
function isOwn({ ids }: OrphanParts, key: string): boolean {
  const owner = ownerOf(key);
  if (owner === undefined) return false;
  return ids.owns('uploadId' in owner ? owner.uploadId : owner.blobId);
}

/** Moves an object to the trash unless it has got a record since it was listed. */
async function moveOrphan(parts: OrphanParts, key: string): Promise<boolean> {
  if (await isKnown(parts, key)) return false;
  return moveToTrash(parts.bytes, key);
}

/**
 * Moves bytes to the store's trash, from which they can be restored until the retention period ends. Returns false when
 * they are gone.
 */
export async function moveToTrash(bytes: BlobStore, key: string): Promise<boolean> {
  try {
    await bytes.move(key, trashKey(key, new Date()));
    return true;
  } catch (error) {
    // Another process has moved or deleted them.
    if (error instanceof BlobMissing) return false;
    throw error;
  }
}

/**
 * Aborts multipart uploads that this installation began, that are older than the grace period and that no record names.
 * Returns their number.
 */
export async function abortOrphans(parts: OrphanParts, stopped: () => boolean): Promise<number> {
  const before = Date.now() - parts.settings.sweepGraceDays * DAY_MS;
  let count = 0;
  for await (const { key, upload, begunAt } of parts.bytes.unfinished('')) {
    if (stopped()) return count;
    if (begunAt > before || !isOwn(parts, key) || (await isKnown(parts, key))) continue;
    await parts.bytes.abortParts(key, upload);
    count++;
  }
  return count;
}

/** Deletes what has been in the trash for longer than the retention period. Returns the number of deleted objects. */
export async function emptyTrash(parts: OrphanParts, stopped: () => boolean): Promise<number> {
  const before = Date.now() - parts.settings.sweepTrashDays * DAY_MS;
  let count = 0;
  for await (const { key } of parts.bytes.list(TRASH_PREFIX)) {
    if (stopped()) return count;
    const trashed = parseTrashKey(key);
    if (trashed === undefined || trashed.at > before || !isOwn(parts, trashed.key)) continue;
    await parts.bytes.delete(key);
    count++;
  }
  return count;
}

const TRASH_PREFIX = 'trash/';
