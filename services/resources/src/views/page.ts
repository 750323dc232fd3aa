import {
  type Collection,
  decodeCursor,
  encodeCursor,
  keyset,
  type Sort,
  type StoredRecord,
  type Where,
} from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';

/** Totals of filtered lists are exact up to so many. */
const EXACT_TOTAL = 1000;

/** A page of records, all of which the caller may see. */
export async function findPage<T extends StoredRecord>(
  collection: Collection<T>,
  where: Where<T>,
  sort: Sort<T>,
  asked: PageRequest | undefined,
): Promise<{ items: T[]; page: Page }> {
  const { limit, offset, cursor } = asked ?? { limit: 50, offset: 0, cursor: '' };
  const after = cursor === '' ? undefined : decodeCursor(cursor);
  const [found, counted] = await Promise.all([
    collection.find({ where, sort, limit: limit + 1, offset, after }),
    collection.count(where, EXACT_TOTAL + 1),
  ]);
  const last = found.length > limit ? found[limit - 1] : undefined;
  const page: Page = {
    limit,
    offset,
    total: Math.min(counted, EXACT_TOTAL),
    totalIsEstimate: counted > EXACT_TOTAL,
    hasMore: last !== undefined,
    nextOffset: last === undefined || cursor !== '' ? undefined : offset + limit,
    nextCursor: last === undefined ? undefined : encodeCursor(keyset(last, sort)),
  };
  return { items: found.slice(0, limit), page };
}

/** Refuses a cursor that is none, where a list may be asked for and there is none to go on with. */
export function requireCursor(asked: PageRequest | undefined): void {
  if (asked !== undefined && asked.cursor !== '') decodeCursor(asked.cursor);
}
