import {
  decodeCursor,
  encodeCursor,
  invalidCursor,
  keyset,
  type Scalar,
  type Sort,
  type StoredRecord,
} from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';

/** Items of a list when a call of another service does not say. */
const DEFAULT_LIMIT = 50;

/** Which part of a list is asked for. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
  /** Where the page before ended. */
  readonly after?: readonly Scalar[];
}

/** Throws `invalid_pagination` for a cursor that no list gave. */
export function sliceOf(request: PageRequest | undefined): Slice {
  const { limit = 0, offset = 0, cursor = '' } = request ?? {};
  return { limit: limit || DEFAULT_LIMIT, offset, ...(cursor === '' ? {} : { after: decodeCursor(cursor) }) };
}

/** Where a list stands. `last` is the keyset of the page's last item. */
export function toPage(slice: Slice, total: number, hasMore: boolean, last: readonly Scalar[] | undefined): Page {
  const { limit, offset, after } = slice;
  const more = hasMore && last !== undefined;
  return {
    limit,
    offset,
    total,
    totalIsEstimate: false,
    hasMore: more,
    nextOffset: more && after === undefined ? offset + limit : undefined,
    nextCursor: more ? encodeCursor(last) : undefined,
  };
}

/** A page of records that a query gave with `limit + 1`. */
export function pageOf<T extends StoredRecord>(
  slice: Slice,
  found: readonly T[],
  total: number,
  sort: Sort<T> = [],
): { items: T[]; page: Page } {
  const items = found.slice(0, slice.limit);
  const last = items.at(-1);
  return { items, page: toPage(slice, total, found.length > slice.limit, last && keyset(last, sort)) };
}

/** A page of records that are all at hand, in the order of a sort. */
export function pageOfAll<T extends StoredRecord>(
  slice: Slice,
  all: readonly T[],
  sort: Sort<T> = [],
): { items: T[]; page: Page } {
  const descending = sort.at(-1)?.startsWith('-') ?? false;
  const ordered = [...all].sort((a, b) => compareKeysets(keyset(a, sort), keyset(b, sort), descending));
  const { after } = slice;
  if (after !== undefined && after.length !== sort.length + 1) throw invalidCursor();
  const from =
    after === undefined
      ? slice.offset
      : ordered.findIndex((one) => compareKeysets(keyset(one, sort), after, descending) > 0);
  const rest = from < 0 ? [] : ordered.slice(from, from + slice.limit + 1);
  return pageOf(slice, rest, all.length, sort);
}

/** Compares by code points, as the stores do. All values of one list go the same way. */
function compareKeysets(a: readonly Scalar[], b: readonly Scalar[], descending: boolean): number {
  for (const [at, value] of a.entries()) {
    const order = Buffer.compare(Buffer.from(String(value)), Buffer.from(String(b[at])));
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}
