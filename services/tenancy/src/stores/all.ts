import { type Collection, keyset, type StoredRecord, type Where } from '@commonplace/kit/store';

const CHUNK = 1000;

/** All matching records, in the order of their ids. For sets that are small by their nature. */
export async function findAll<T extends StoredRecord>(collection: Collection<T>, where: Where<T>): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const last = all.at(-1);
    const chunk = await collection.find({ where, limit: CHUNK, ...(last && { after: keyset(last) }) });
    all.push(...chunk);
    if (chunk.length < CHUNK) return all;
  }
}

/** The only record of a unique value. */
export async function findOne<T extends StoredRecord>(
  collection: Collection<T>,
  where: Where<T>,
): Promise<T | undefined> {
  return (await collection.find({ where, limit: 1 }))[0];
}
