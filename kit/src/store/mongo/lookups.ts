import { unbounded } from '../../deadline/index.js';
import type { StoredDocument } from './codec.js';
import type { RawCollection } from './collection.js';

/** Gives the document of an id, which its caller may not change; the server works on it for `maxTimeMS` at the most. */
export type Lookup = (id: string, maxTimeMS: number) => Promise<StoredDocument | undefined>;

/** Ids that one query asks for. */
const MOST_IDS = 100;

interface Waiting {
  readonly id: string;
  readonly maxTimeMS: number;
  readonly resolve: (found: StoredDocument | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads by id, together those that are asked for in the same turn of the event loop: a query costs the driver, the
 * network and the server more than what it reads. It goes out after all of them were asked for, and sees every commit
 * that was acknowledged by then.
 */
export function createLookups(raw: RawCollection): Lookup {
  let waiting: Waiting[] = [];

  function send(): void {
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += MOST_IDS) void answer(raw, all.slice(from, from + MOST_IDS));
  }

  return (id, maxTimeMS) =>
    new Promise((resolve, reject) => {
      // A query is of several calls: it is not over with the first of them.
      if (waiting.length === 0) unbounded(() => setImmediate(send));
      waiting.push({ id, maxTimeMS, resolve, reject });
    });
}

/** Answers all of them, and never rejects. */
async function answer(raw: RawCollection, group: readonly Waiting[]): Promise<void> {
  try {
    const maxTimeMS = Math.max(...group.map((one) => one.maxTimeMS));
    const found = await documentsOf(raw, [...new Set(group.map(({ id }) => id))], maxTimeMS);
    for (const { id, resolve } of group) resolve(found.get(id));
  } catch (error) {
    for (const { reject } of group) reject(error);
  }
}

/** Documents by their ids. */
export async function documentsOf(
  raw: RawCollection,
  ids: readonly string[],
  maxTimeMS: number,
): Promise<Map<string, StoredDocument>> {
  const condition = ids.length === 1 ? { $eq: ids[0] as string } : { $in: [...ids] };
  const found = await raw.find({ _id: condition }, { maxTimeMS, batchSize: ids.length + 1 }).toArray();
  return new Map(found.map((document) => [document._id, document]));
}
