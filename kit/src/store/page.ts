import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { decodeCursor, encodeCursor, invalidCursor, keyset } from './cursor.js';
import type { Collection, Scalar, Sort, StoredRecord, Where } from './port.js';

/**
 * Default number of items on a page. The gateway fills in the limit of client requests, so it applies to internal ones
 * only.
 */
export const DEFAULT_LIMIT = 50;
/** Greatest count up to which totals of filtered lists are exact. */
export const EXACT_TOTAL = 1000;

/** The part of a list that a request asks for. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
  /** Keyset of the last item of the previous page; the offset is ignored when it is present. */
  readonly after?: readonly Scalar[];
}

/** Number of items in a list. If `estimate` is true, there are more than `count`. */
export interface Total {
  readonly count: number;
  readonly estimate: boolean;
}

/** Returns the part of a list that a request asks for. Throws `invalid_pagination` for a malformed cursor. */
export function parsePageRequest(request: PageRequest | undefined): Slice {
  const { limit = 0, offset = 0, cursor = '' } = request ?? {};
  return { limit: limit || DEFAULT_LIMIT, offset, ...(cursor === '' ? {} : { after: decodeCursor(cursor) }) };
}

/** Throws `invalid_pagination` for a malformed cursor, for lists that have no further page. */
export function requireCursor(request: PageRequest | undefined): void {
  parsePageRequest(request);
}

/** Converts a count that was made up to `EXACT_TOTAL + 1` into a total. */
export function totalOf(counted: number): Total {
  return { count: Math.min(counted, EXACT_TOTAL), estimate: counted > EXACT_TOTAL };
}

/** Returns the number of matching records, exact up to `EXACT_TOTAL`. */
export async function countTotal<T extends StoredRecord>(collection: Collection<T>, where: Where<T>): Promise<Total> {
  return totalOf(await collection.count(where, EXACT_TOTAL + 1));
}

/**
 * Builds the page information of a list. `next` is the keyset of this page's last item, where the next page continues;
 * undefined if the list ends here.
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

/** Builds a page from records that a query returned with the limit `limit + 1`. */
export function pageOf<T extends StoredRecord>(
  slice: Slice,
  found: readonly T[],
  total: Total | number,
  sort: Sort<T> = [],
): { items: T[]; page: Page } {
  const last = found.length > slice.limit ? found[slice.limit - 1] : undefined;
  return { items: found.slice(0, slice.limit), page: toPage(slice, total, last && keyset(last, sort)) };
}

/** Returns a page that ends after some of its items, at least one, because all of them are too large together. */
export function shortenedPage<T extends StoredRecord>(
  page: Page,
  kept: readonly T[],
  sort: Sort<T>,
  request: PageRequest | undefined,
): Page {
  const { offset, after } = parsePageRequest(request);
  const nextOffset = after === undefined ? offset + kept.length : undefined;
  return { ...page, hasMore: true, nextOffset, nextCursor: encodeCursor(keyset(kept.at(-1) as T, sort)) };
}

/** Returns a page of the matching records, all of which the caller may see. Pass `total` if it is already known. */
export async function findPage<T extends StoredRecord>(
  collection: Collection<T>,
  where: Where<T>,
  sort: Sort<T>,
  request: PageRequest | undefined,
  total?: Total | number,
): Promise<{ items: T[]; page: Page }> {
  const slice = parsePageRequest(request);
  const { after } = slice;
  // The last value of a keyset is an id.
  if (after !== undefined && typeof after.at(-1) !== 'string') throw invalidCursor();
  const query = { where, sort, limit: slice.limit + 1, offset: slice.offset, after };
  if (total !== undefined) return pageOf(slice, await collection.find(query), total, sort);
  const { found, count } = await collection.findAndCount(query, EXACT_TOTAL + 1);
  return pageOf(slice, found, totalOf(count), sort);
}

/** Returns records in the order in which a store returns them. All fields of the sort must have the same direction. */
export function sortRecords<T extends StoredRecord>(all: readonly T[], sort: Sort<T> = []): T[] {
  const descending = isDescending(sort);
  const placed = all.map((record) => ({ record, place: keyset(record, sort) }));
  placed.sort((a, b) => compareKeysets(a.place, b.place, descending));
  return placed.map(({ record }) => record);
}

const isDescending = <T>(sort: Sort<T>): boolean => sort.at(-1)?.startsWith('-') ?? false;

/** Returns a page of records that are all in memory. All fields of the sort must have the same direction. */
export function pageOfAll<T extends StoredRecord>(
  slice: Slice,
  all: readonly T[],
  sort: Sort<T> = [],
): { items: T[]; page: Page } {
  const descending = isDescending(sort);
  const ordered = sortRecords(all, sort);
  const { after } = slice;
  if (after !== undefined && after.length !== sort.length + 1) throw invalidCursor();
  const from =
    after === undefined
      ? slice.offset
      : ordered.findIndex((one) => compareKeysets(keyset(one, sort), after, descending) > 0);
  const rest = from < 0 ? [] : ordered.slice(from, from + slice.limit + 1);
  return pageOf(slice, rest, all.length, sort);
}

function compareScalars(a: Scalar, b: Scalar | undefined): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return compareTexts(String(a), String(b));
}

/** Compares texts by code point, in which surrogates, which begin at U+D800, stand for characters after all others. */
function compareTexts(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) {
    const [one, other] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (one !== other) return rankOf(one) - rankOf(other);
  }
  return a.length - b.length;
}

const rankOf = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** Compares keysets as the stores do: numbers by their value, texts by code point. */
function compareKeysets(a: readonly Scalar[], b: readonly Scalar[], descending: boolean): number {
  for (const [at, value] of a.entries()) {
    const order = compareScalars(value, b[at]);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}
