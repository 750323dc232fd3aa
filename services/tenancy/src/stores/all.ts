import { type Collection, findAll, type StoredRecord, type Where } from '@commonplace/kit/store';

const CHUNK = 1000;

/**
 * Returns all matching records in the order of their ids. It loads them into memory: use it for sets that stay
 * small.
 */
export function findAllWhere<T extends StoredRecord>(collection: Collection<T>, where: Where<T>): Promise<T[]> {
  return findAll(collection, { where }, CHUNK);
}

/** Returns the first matching record, or undefined. Use it where a unique index allows at most one. */
export async function findOne<T extends StoredRecord>(
  collection: Collection<T>,
  where: Where<T>,
): Promise<T | undefined> {
  return (await collection.find({ where, limit: 1 }))[0];
}
