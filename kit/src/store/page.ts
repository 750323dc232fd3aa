import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { decodeCursor, encodeCursor, invalidCursor, keyset } from './cursor.js';
import type { Collection, Scalar, Sort, StoredRecord, Where } from './port.js';

/** Items of a list where a request does not say; those of clients do, as the gateway fills it in. */
const DEFAULT_LIMIT = 50;
/** Totals of filtered lists are exact up to so many. */
export const EXACT_TOTAL = 1000;

/** Which part of a list is asked for. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
  /** Where the page before ended; an offset does not count then. */
  readonly after?: readonly Scalar[];
}

/** How many there are: all of them, or where `estimate` is true more than that. */
export interface Total {
  readonly count: number;
  readonly estimate: boolean;
}

/** What a request asks for. Throws `invalid_pagination` for a cursor that no list gave. */
export function sliceOf(request: PageRequest | undefined): Slice {
  const { limit = 0, offset = 0, cursor = '' } = request ?? {};
  return { limit: limit || DEFAULT_LIMIT, offset, ...(cursor === '' ? {} : { after: decodeCursor(cursor) }) };
}

/** Refuses a cursor that is none, where a list may be asked for and there is none to go on with. */
export function requireCursor(request: PageRequest | undefined): void {
  sliceOf(request);
}

/** A total as far as it is told, of a count up to `EXACT_TOTAL + 1`. */
export function totalOf(counted: number): Total {
  return { count: Math.min(counted, EXACT_TOTAL), estimate: counted > EXACT_TOTAL };
}

/** How many records match, exactly up to `EXACT_TOTAL`. */
export async function countTotal<T extends StoredRecord>(collection: Collection<T>, where: Where<T>): Promise<Total> {
  return totalOf(await collection.count(where, EXACT_TOTAL + 1));
}

/**
 * Where a list stands. `next` is where the page behind this one continues: the keyset of this one's
 * last item; undefined where the list ends.
 */
export function toPage(
  { limit, offset, after }: Slice,
  total: Total | number,
  next: readonly Scalar[] | undefined,
): Page {
  const { count, estimate } = typeof total === 'number' ? { count: total, estimate: false } : total;
  return {
    limit,
    offset,
    total: count,
    totalIsEstimate: estimate,
    hasMore: next !== undefined,
    nextOffset: next === undefined || after !== undefined ? undefined : offset + limit,
    nextCursor: next === undefined ? undefined : encodeCursor(next),
  };
}

/** A page of records that a query gave with `limit + 1`. */
export function pageOf<T extends StoredRecord>(
  slice: Slice,
  found: readonly T[],
  total: Total | number,
  sort: Sort<T> = [],
): { items: T[]; page: Page } {
  const last = found.length > slice.limit ? found[slice.limit - 1] : undefined;
  return { items: found.slice(0, slice.limit), page: toPage(slice, total, last && keyset(last, sort)) };
}

/** A page of the records that match, all of which the caller may see; `total` where it is known already. */
export async function findPage<T extends StoredRecord>(
  collection: Collection<T>,
  where: Where<T>,
  sort: Sort<T>,
  request: PageRequest | undefined,
  total?: Total | number,
): Promise<{ items: T[]; page: Page }> {
  const slice = sliceOf(request);
  const { after } = slice;
  // A keyset ends with an id.
  if (after !== undefined && typeof after.at(-1) !== 'string') throw invalidCursor();
  const [found, counted] = await Promise.all([
    collection.find({ where, sort, limit: slice.limit + 1, offset: slice.offset, after }),
    total ?? countTotal(collection, where),
  ]);
  return pageOf(slice, found, counted, sort);
}

/** A page of records that are all at hand, in the order of a sort whose fields all go the same way. */
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

/** Compares by code points, as the stores do. */
function compareKeysets(a: readonly Scalar[], b: readonly Scalar[], descending: boolean): number {
  for (const [at, value] of a.entries()) {
    const order = Buffer.compare(Buffer.from(String(value)), Buffer.from(String(b[at])));
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}
