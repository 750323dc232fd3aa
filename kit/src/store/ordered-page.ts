import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { invalidCursor } from './cursor.js';
import { DEFAULT_LIMIT, parsePageRequest, toPage } from './page.js';
import type { Scalar } from './port.js';

/** Number of items after a page whose ids its cursor contains, in case the last item of the page is removed. */
const NEXT_ITEMS = 3;

/**
 * Returns a page of a list that people put in order, all of which is in memory. The next page begins after the last item,
 * or at the first of the items behind it that still exists. If none of them exists, it begins earlier by the number of items
 * that were lost, so it may repeat items, but skips none because of removals. Throws `invalid_pagination` for the cursor of
 * another list.
 */
export function pageInOrder<T extends { readonly id: string }>(
  request: PageRequest | undefined,
  all: readonly T[],
): { items: T[]; page: Page } {
  const slice = parsePageRequest(request);
  const from = slice.after === undefined ? slice.offset : placeBehind(slice.after, all);
  const to = from + slice.limit;
  const last = all[to - 1];
  const following = all.slice(to, to + NEXT_ITEMS).map(({ id }) => id);
  const next = last === undefined || following.length === 0 ? undefined : [last.id, to, all.length, ...following];
  return { items: all.slice(from, to), page: toPage(slice, all.length, next) };
}

/** Returns the request for a whole list, which answers to writes contain. */
export function wholeList({ length }: readonly unknown[]): PageRequest {
  return { limit: Math.max(DEFAULT_LIMIT, length), offset: 0, cursor: '' };
}

function placeBehind(
  [last, offset, total, ...next]: readonly Scalar[],
  all: readonly { readonly id: string }[],
): number {
  if (typeof last !== 'string' || !isCount(offset) || !isCount(total) || next.length > NEXT_ITEMS)
    throw invalidCursor();
  const placeOf = (id: Scalar) => all.findIndex((item) => item.id === id);
  const behind = placeOf(last) + 1;
  if (behind > 0) return behind;
  const first = next.map(placeOf).find((place) => place >= 0);
  return first ?? Math.max(0, Math.min(offset, all.length) - Math.max(0, total - all.length));
}

function isCount(value: Scalar | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
