import type { Collection, Query, StoredRecord } from '@commonplace/kit/store';
import { keyset } from '@commonplace/kit/store';

/** Number of records that one query reads. With the longest descriptions, parsing them takes a few milliseconds. */
const STEP = 25;

/**
 * Returns the same records as one query would, but reads them in several queries, so that a long list does not block
 * other requests of the process.
 */
export async function findInSlices<T extends StoredRecord>(from: Collection<T>, query: Query<T>): Promise<T[]> {
  const found: T[] = [];
  let { after, offset = 0 } = query;
  while (found.length < query.limit) {
    const limit = Math.min(STEP, query.limit - found.length);
    const some = await from.find({ ...query, limit, offset, ...(after && { after }) });
    found.push(...some);
    const last = some.at(-1);
    if (last === undefined || some.length < limit) return found;
    after = keyset(last, query.sort);
    offset = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}
