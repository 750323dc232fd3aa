import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { createBreathe } from '../slices/index.js';
import { invalidCursor, keyset } from './cursor.js';
import { countTotal, parsePageRequest, toPage } from './page.js';
import type { Collection, Scalar, Sort, StoredRecord, Where } from './port.js';

/** Maximum bytes of the items on one page; a page that exceeds it ends early and reports that there are more items. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Maximum number of records that are read at once. */
const MAX_CHUNK = 32;

/** The list that a page is of. */
interface BoundedList<T extends StoredRecord, Item> {
  readonly collection: Collection<T>;
  readonly where: Where<T>;
  readonly sort: Sort<T>;
  /** Yields the items of some records, in their order, one for each. */
  present(records: readonly T[]): AsyncIterable<Item>;
  /** Returns the bytes of the parts of an item that may be large. */
  bytesOf(item: Item): number;
}

/**
 * Returns a page of matching records, all of which the caller may see, as items. The page ends early when its items become
 * too large together; it has at least one item if there is one. Records are read in small groups, so that few that the page
 * has no room for are read, and other requests run in between.
 */
export async function findBoundedPage<T extends StoredRecord, Item>(
  { collection, where, sort, present, bytesOf }: BoundedList<T, Item>,
  request: PageRequest | undefined,
): Promise<{ items: Item[]; page: Page }> {
  const slice = parsePageRequest(request);
  // The last value of a keyset is an id.
  if (slice.after !== undefined && typeof slice.after.at(-1) !== 'string') throw invalidCursor();
  const total = await countTotal(collection, where);
  const items: Item[] = [];
  const endAt = (last: T | undefined) => {
    const page = toPage(slice, total, last && keyset(last, sort));
    return { items, page: page.nextOffset === undefined ? page : { ...page, nextOffset: slice.offset + items.length } };
  };
  const breathe = createBreathe();
  let bytes = 0;
  let last: T | undefined;
  for (let size = 1; ; size = chunkSize(size, bytes, items.length)) {
    const limit = Math.min(size, slice.limit - items.length);
    const after: readonly Scalar[] | undefined = last === undefined ? slice.after : keyset(last, sort);
    const place = after === undefined ? { offset: slice.offset } : { after };
    const found = await collection.find({ where, sort, limit: limit + 1, ...place });
    const chunk = found.slice(0, limit);
    let at = 0;
    for await (const item of present(chunk)) {
      const more = bytesOf(item);
      if (items.length > 0 && bytes + more > MAX_PAGE_BYTES) return endAt(last);
      bytes += more;
      items.push(item);
      last = chunk[at++];
      await breathe();
    }
    if (found.length <= limit) return endAt(undefined);
    if (items.length >= slice.limit) return endAt(last);
  }
}

/** Returns how many records to read next: twice as many as before, but not more than the page has room for. */
function chunkSize(before: number, bytes: number, count: number): number {
  const room = bytes === 0 ? MAX_CHUNK : Math.floor(((MAX_PAGE_BYTES - bytes) * count) / bytes);
  return Math.max(1, Math.min(2 * before, MAX_CHUNK, room));
}
