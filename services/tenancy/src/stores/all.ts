import { type Collection, keyset, type StoredRecord, type Where } from '@commonplace/kit/store';

const CHUNK = 1000;

/**
 * Returns all matching records in the order of their ids. It loads them into memory: use it for sets that stay
 * small.
 */
export async function findAll<T extends StoredRecord>(collection: Collection<T>, where: Where<T>): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const last = all.at(-1);
    const chunk = await collection.find({ where, limit: CHUNK, ...(last && { after: keyset(last) }) });
    all.push(...chunk);
    if (chunk.length < CHUNK) return all;
  }
}

/** Returns the first matching record, or undefined. Use it where a unique index allows at most one. */
export async function findOne<T extends StoredRecord>(
  collection: Collection<T>,
  where: Where<T>,
): Promise<T | undefined> {
  return (await collection.find({ where, limit: 1 }))[0];
}
