import { type Collection, decodeCursor, encodeCursor, keyset, type Where } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { ApiKeyRecord } from '../stores/api-keys.js';

const NEWEST_FIRST = ['-createdAt'] as const;

/** One page of the keys in several sets without a common key, newest first. */
export async function pageOf(
  keys: Collection<ApiKeyRecord>,
  sets: readonly Where<ApiKeyRecord>[],
  asked: PageRequest = { limit: 50, offset: 0, cursor: '' },
): Promise<{ items: ApiKeyRecord[]; page: Page }> {
  const { limit, offset, cursor } = asked;
  const after = cursor === '' ? {} : { after: decodeCursor(cursor) };
  const most = offset + limit + 1;
  const found = await Promise.all(sets.map((where) => keys.find({ where, sort: NEWEST_FIRST, limit: most, ...after })));
  const counts = await Promise.all(sets.map((where) => keys.count(where)));
  const merged = found.flat().sort(newestFirst).slice(offset, most);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return { items: merged.slice(0, limit), page: pageAt({ limit, offset, total, found: merged }) };
}

function newestFirst(one: ApiKeyRecord, other: ApiKeyRecord): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}

interface Found {
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
  /** One more than the page holds, where there is one. */
  readonly found: readonly ApiKeyRecord[];
}

function pageAt({ limit, offset, total, found }: Found): Page {
  const last = found.length > limit ? found[limit - 1] : undefined;
  return {
    limit,
    offset,
    total,
    totalIsEstimate: false,
    hasMore: last !== undefined,
    nextOffset: last === undefined ? undefined : offset + limit,
    nextCursor: last === undefined ? undefined : encodeCursor(keyset(last, NEWEST_FIRST)),
  };
}
