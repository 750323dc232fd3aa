import type { Collection, Query, StoredRecord } from '@commonplace/kit/store';
import { keyset } from '@commonplace/kit/store';

/** Records that one query reads: with the longest descriptions, their parsing takes some milliseconds. */
const STEP = 25;

/** Finds records as one query would, in several, so that no long list holds up the other requests of the process. */
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
