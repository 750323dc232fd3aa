import {
  type BlobStore,
  type HeldSweep,
  openSharedBlobStore,
  parseTrashKey,
  readSweep,
  saveSweep,
  sweepCollection,
} from '@commonplace/files/blobs';
import { openStoreBeside, type StoreBeside } from '@commonplace/platform/runtime';
import { CommandError, EXIT, noDatabase } from './exit.js';
import type { Selection } from './selection.js';
import { type Places, readPlaces } from './settings.js';

/** A blob in the store's trash. */
interface Trashed {
  /** Key of the blob before it was moved to the trash. */
  readonly key: string;
  /** Day in UTC, such as `2026-11-21`. */
  readonly trashedOn: string;
  readonly sizeBytes: number;
}

const NO_HELD_SWEEP: HeldSweep = { held: 0, objects: 0, allowed: 0 };

/** Returns the contents of the trash, and the number of objects that wait for an operator's approval. */
export async function listTrash(env: NodeJS.ProcessEnv): Promise<{ trash: Trashed[]; held: HeldSweep }> {
  const places = readPlaces(env);
  const held = await withRecords(places, async ({ store }) => {
    return (await readSweep(await store.collection(sweepCollection))) ?? NO_HELD_SWEEP;
  });
  const found = await withBytes(places, trashOf);
  return { trash: found.map(({ key, at, sizeBytes }) => ({ key, trashedOn: dayOf(at), sizeBytes })), held };
}

/** Moves blobs from the trash back to their keys. Blobs whose key is in use again stay in the trash. */
export async function restoreFromTrash(
  env: NodeJS.ProcessEnv,
  wanted: Selection,
): Promise<{ restored: string[]; kept: string[] }> {
  const places = readPlaces(env);
  // Without records there is no system whose bytes these could be.
  await withRecords(places, async () => {});
  return withBytes(places, async (bytes) => {
    const found = await trashOf(bytes);
    const missing = wanted === 'all' ? undefined : wanted.find((key) => !found.some((one) => one.key === key));
    if (missing !== undefined) throw new CommandError(EXIT.missing, `${missing} is not in the trash`);
    const [restored, kept]: [string[], string[]] = [[], []];
    for (const { key, place } of found.filter((one) => wanted === 'all' || wanted.includes(one.key))) {
      if ((await bytes.size(key)) === undefined) {
        await bytes.move(place, key);
        restored.push(key);
      } else kept.push(key);
    }
    return { restored, kept };
  });
}

/** Allows the next sweep to move the objects that the last one held back. Returns their number. */
export function allowHeld(env: NodeJS.ProcessEnv): Promise<number> {
  return withRecords(readPlaces(env), async ({ store }) => {
    const sweeps = await store.collection(sweepCollection);
    const held = (await readSweep(sweeps)) ?? NO_HELD_SWEEP;
    if (held.held > 0) await saveSweep({ store, sweeps }, { ...held, allowed: held.held });
    return held.held;
  });
}

async function trashOf(bytes: BlobStore) {
  const found: { readonly key: string; readonly place: string; readonly at: number; readonly sizeBytes: number }[] = [];
  for await (const { key: place, sizeBytes } of bytes.list('trash/')) {
    const trashed = parseTrashKey(place);
    if (trashed !== undefined) found.push({ ...trashed, place, sizeBytes });
  }
  return found;
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

async function withRecords<T>(places: Places, work: (beside: StoreBeside) => Promise<T>): Promise<T> {
  const beside = await openStoreBeside(places, 'files');
  if (beside === undefined) throw noDatabase(places.dataDir);
  try {
    return await work(beside);
  } finally {
    await beside.close();
  }
}

async function withBytes<T>({ s3Url, dataDir }: Places, work: (bytes: BlobStore) => Promise<T>): Promise<T> {
  const bytes = await openSharedBlobStore({ s3Url, s3PublicUrl: undefined }, dataDir);
  try {
    return await work(bytes);
  } finally {
    await bytes.close();
  }
}
