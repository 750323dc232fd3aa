import { createBreathe } from '../slices/index.js';
import { keyset } from './cursor.js';
import type { Collection, Query, Scalar, StoredRecord } from './port.js';

type Selection<T> = Pick<Query<T>, 'where' | 'sort'>;

/**
 * Yields all records of a query in pages of `size`, and lets other requests run in between. Changes meanwhile affect only
 * what is yielded later.
 */
export async function* findPages<T extends StoredRecord>(
  from: Collection<T>,
  query: Selection<T>,
  size: number,
): AsyncGenerator<T[]> {
  const breathe = createBreathe();
  for (let after: Scalar[] | undefined; ; await breathe()) {
    const page = await from.find({ ...query, limit: size, ...(after && { after }) });
    if (page.length > 0) yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < size) return;
    after = keyset(last, query.sort);
  }
}

/** Yields all records of a query one by one, as `findPages` reads them. */
export async function* findEach<T extends StoredRecord>(
  from: Collection<T>,
  query: Selection<T>,
  size: number,
): AsyncGenerator<T> {
  for await (const page of findPages(from, query, size)) yield* page;
}

/** Returns all records of a query, as `findPages` reads them. It loads them into memory: use it for sets that stay small. */
export async function findAll<T extends StoredRecord>(
  from: Collection<T>,
  query: Selection<T>,
  size: number,
): Promise<T[]> {
  const all: T[] = [];
  for await (const page of findPages(from, query, size)) all.push(...page);
  return all;
}

/**
 * Returns the same records as one query would, but reads them in several queries of up to `size` records, so that a long
 * list of large records does not block other requests.
 */
export async function findInPages<T extends StoredRecord>(
  from: Collection<T>,
  query: Query<T>,
  size: number,
): Promise<T[]> {
  const breathe = createBreathe();
  const found: T[] = [];
  let { after, offset = 0 } = query;
  while (found.length < query.limit) {
    const limit = Math.min(size, query.limit - found.length);
    const page = await from.find({ ...query, limit, offset, ...(after && { after }) });
    found.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < limit) break;
    after = keyset(last, query.sort);
    offset = 0;
    await breathe();
  }
  return found;
}
