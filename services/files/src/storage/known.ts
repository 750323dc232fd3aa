import { type Collection, findEach, type Store } from '@commonplace/kit/store';
import type { ListedBlob } from '../blobs/port.js';
import { blobKey, ownerOf } from '../domain/layout.js';
import { type Blob, blobCollection, type Intent, intentCollection, type Upload, uploadCollection } from './records.js';

/** Holds the collections whose records name keys of the blob store. */
export interface KeyRecords {
  readonly blobs: Collection<Blob>;
  readonly uploads: Collection<Upload>;
  readonly intents: Collection<Intent>;
}

const CHUNK = 500;

/** Opens the collections whose records name bytes. */
export async function openKeyRecords(store: Store): Promise<KeyRecords> {
  return {
    blobs: await store.collection(blobCollection),
    uploads: await store.collection(uploadCollection),
    intents: await store.collection(intentCollection),
  };
}

/** Checks whether a record or an attempt names a key. Attempts are recorded before their bytes are stored. */
export async function isKnown(records: KeyRecords, key: string): Promise<boolean> {
  const owner = ownerOf(key);
  // The sweeper must not delete a key of another form.
  if (owner === undefined) return true;
  if ('uploadId' in owner) return (await records.uploads.get(owner.uploadId)) !== undefined;
  const { blobId } = owner;
  // The order matters: an attempt ends once its bytes have a record.
  if ((await records.intents.count({ blobId }, 1)) > 0) return true;
  if ((await records.uploads.find({ where: { blobId }, limit: 1 })).length > 0) return true;
  return (await records.blobs.get(blobId)) !== undefined;
}

/** Yields key and size of all bytes that versions use. */
export async function* usedKeys({ blobs }: KeyRecords): AsyncIterable<ListedBlob> {
  for await (const { id, uses, sizeBytes } of findEach(blobs, { where: {} }, CHUNK)) {
    if (uses > 0) yield { key: blobKey(id), sizeBytes };
  }
}
