import { unbounded } from '@commonplace/kit/deadline';
import { createBreathe } from '@commonplace/kit/slices';
import type { FindCursor } from 'mongodb';
import type { StoredDocument } from './codec.js';
import type { RawCollection } from './collection.js';

/**
 * Returns the document with an id; the caller must not change it. The server works on the read for at most `maxTimeMS`.
 */
type Lookup = (id: string, maxTimeMS: number) => Promise<StoredDocument | undefined>;

/** Maximum number of ids in one query. */
const MAX_IDS = 100;

interface Waiting {
  readonly id: string;
  readonly maxTimeMS: number;
  readonly resolve: (found: StoredDocument | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Creates a lookup that reads documents by id and batches the ids requested in the same turn of the event loop, because
 * a query costs the driver, the network and the server more than the documents themselves. The query is sent after all
 * of them were requested, and sees every commit that was acknowledged by then.
 */
export function createLookups(raw: RawCollection): Lookup {
  let waiting: Waiting[] = [];

  function send(): void {
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += MAX_IDS) void answer(raw, all.slice(from, from + MAX_IDS));
  }

  return (id, maxTimeMS) =>
    new Promise((resolve, reject) => {
      // A query serves several calls, so the deadline of one call must not end it.
      if (waiting.length === 0) unbounded(() => setImmediate(send));
      waiting.push({ id, maxTimeMS, resolve, reject });
    });
}

/** Resolves or rejects every lookup of the group. Never rejects itself. */
async function answer(raw: RawCollection, group: readonly Waiting[]): Promise<void> {
  try {
    const maxTimeMS = Math.max(...group.map((one) => one.maxTimeMS));
    const found = await documentsOf(raw, [...new Set(group.map(({ id }) => id))], maxTimeMS);
    for (const { id, resolve } of group) resolve(found.get(id));
  } catch (error) {
    for (const { reject } of group) reject(error);
  }
}

export async function documentsOf(
  raw: RawCollection,
  ids: readonly string[],
  maxTimeMS: number,
): Promise<Map<string, StoredDocument>> {
  const condition = ids.length === 1 ? { $eq: ids[0] as string } : { $in: [...ids] };
  const byId = new Map<string, StoredDocument>();
  const cursor = raw.find({ _id: condition }, { maxTimeMS, batchSize: ids.length + 1 });
  await takeEach(cursor, (document) => byId.set(document._id, document));
  return byId;
}

/** Calls `take` with each document of a cursor, and lets other requests run in between. */
export async function takeEach(
  cursor: FindCursor<StoredDocument>,
  take: (document: StoredDocument) => void,
): Promise<void> {
  const breathe = createBreathe();
  // The driver decodes each document when it is taken.
  for await (const document of cursor) {
    take(document);
    await breathe();
  }
}
