import { type Collection, pageOf, pageOfAll, parsePageRequest, type Sort, type Where } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { ApiKeyRecord } from '../stores/api-keys.js';

/** The orders of a list of keys. */
export const NEWEST_FIRST: Sort<ApiKeyRecord> = ['-createdAt'];
export const OLDEST_FIRST: Sort<ApiKeyRecord> = ['createdAt'];

/** Returns one page of the keys that match any of several disjoint filters. */
export async function pageOfSets(
  keys: Collection<ApiKeyRecord>,
  sets: readonly Where<ApiKeyRecord>[],
  sort: Sort<ApiKeyRecord>,
  pageRequest: PageRequest | undefined,
): Promise<{ items: ApiKeyRecord[]; page: Page }> {
  const slice = parsePageRequest(pageRequest);
  const { limit: size, offset, after } = slice;
  const limit = offset + size + 1;
  const found = await Promise.all(sets.map((where) => keys.find({ where, sort, limit, after })));
  const counts = await Promise.all(sets.map((where) => keys.count(where)));
  const merged = found
    .flat()
    .sort(sort === OLDEST_FIRST ? (a, b) => newestFirst(b, a) : newestFirst)
    .slice(offset, limit);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return pageOf(slice, merged, total, sort);
}

/** Maximum number of keys per filter that a credential limited to workspaces can list; older ones are left out. */
const MAX_LIMITED_KEYS = 1000;

/** Returns one page of the matching keys that reach no workspaces but the given ones. */
export async function pageOfLimited(
  keys: Collection<ApiKeyRecord>,
  sets: readonly Where<ApiKeyRecord>[],
  workspaceIds: readonly string[],
  sort: Sort<ApiKeyRecord>,
  pageRequest: PageRequest | undefined,
): Promise<{ items: ApiKeyRecord[]; page: Page }> {
  const touching: Where<ApiKeyRecord> = { workspaceIds: { containsAny: workspaceIds } };
  const found = await Promise.all(
    sets.map((where) => keys.find({ where: { and: [where, touching] }, sort: NEWEST_FIRST, limit: MAX_LIMITED_KEYS })),
  );
  const within = found.flat().filter((key) => key.workspaceIds?.every((id) => workspaceIds.includes(id)));
  return pageOfAll(parsePageRequest(pageRequest), within, sort);
}

function newestFirst(one: ApiKeyRecord, other: ApiKeyRecord): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}
