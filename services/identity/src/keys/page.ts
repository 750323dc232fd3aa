import { type Collection, pageOf, sliceOf, type Where } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { ApiKeyRecord } from '../stores/api-keys.js';

const NEWEST_FIRST = ['-createdAt'] as const;

/** One page of the keys in several sets without a common key, newest first. */
export async function pageOfSets(
  keys: Collection<ApiKeyRecord>,
  sets: readonly Where<ApiKeyRecord>[],
  asked: PageRequest | undefined,
): Promise<{ items: ApiKeyRecord[]; page: Page }> {
  const slice = sliceOf(asked);
  const { limit: size, offset, after } = slice;
  const limit = offset + size + 1;
  const found = await Promise.all(sets.map((where) => keys.find({ where, sort: NEWEST_FIRST, limit, after })));
  const counts = await Promise.all(sets.map((where) => keys.count(where)));
  const merged = found.flat().sort(newestFirst).slice(offset, limit);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return pageOf(slice, merged, total, NEWEST_FIRST);
}

function newestFirst(one: ApiKeyRecord, other: ApiKeyRecord): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}
