import type { Query, StoredRecord } from '@commonplace/kit/store';
import type { Connection, Row } from './file/binding.js';
import { isLarge, isLong, LargePage } from './large-pages.js';
import type { RecordCache } from './record-cache.js';
import type { TableShape } from './schema.js';
import { selectPage } from './select.js';
import { LIST, listParam } from './values.js';

/** Reads of the records of a collection, which use the cache where they can. */
export interface CachedReads<T> {
  /** Returns a record if it is in memory, for a test of it rather than for a reader. */
  peek(id: string): T | undefined;
  get(id: string): T | undefined;
  /** Returns the same; a large record is parsed in a later turn of the event loop than it is read in. */
  getInTurns(id: string): T | undefined | Promise<T | undefined>;
  /** Returns the records that exist, in the order of `ids`. */
  getMany(ids: readonly string[]): T[];
  /** Returns the same; those that are not in memory are parsed with pauses, and not cached, if they are large together. */
  getManyInSlices(ids: readonly string[]): T[] | Promise<T[]>;
  /** Returns the same; undefined if those that are not in memory are large together. */
  getManyUnlessLarge(ids: readonly string[]): T[] | undefined;
  /** Returns a page. If it has more records than are cached of a page, or large ones, they are not cached. */
  find(query: Query<T>): T[] | LargePage;
}

/** Largest page whose records are cached. Background work reads larger ones, once. */
export const MAX_CACHED_PAGE = 200;
/** The same for collections that cache queries: a person may have a role in thousands of workspaces. */
const MAX_CACHED_QUERY = 1000;

export function createCachedReads<T extends StoredRecord>(
  { reader, cache }: { readonly reader: Connection; readonly cache: RecordCache },
  shape: TableShape,
  cachesQueries: boolean,
): CachedReads<T> {
  const { table } = shape;
  const maxPage = cachesQueries ? MAX_CACHED_QUERY : MAX_CACHED_PAGE;
  const byId = `SELECT doc FROM ${table} WHERE id = ?`;
  const byIds = `SELECT doc FROM ${table} WHERE id IN ${LIST}`;
  const cached = (id: string): T | undefined => cache.get(table, id) as T | undefined;
  const keep = ([doc]: Row): T => cache.put(table, JSON.parse(doc as string) as T, (doc as string).length);

  function get(id: string): T | undefined {
    const there = cached(id);
    if (there !== undefined) return there;
    const row = rowOf(id);
    return row && keep(row);
  }

  function getInTurns(id: string): T | undefined | Promise<T | undefined> {
    const there = cached(id);
    if (there !== undefined) return there;
    const row = rowOf(id);
    if (row === undefined) return undefined;
    return isLong(row) ? new LargePage([row]).parse<T>().then(([record]) => record) : keep(row);
  }

  /** Reads a record from the file. The driver takes about four times as long to start a list of rows. */
  function rowOf(id: string): Row | undefined {
    // No id contains NUL, and NUL cannot be bound.
    return id.includes('\0') ? undefined : reader.get(byId, [id]);
  }

  function getMany(ids: readonly string[]): T[] {
    if (ids.length === 1) return listed(get(ids[0] as string));
    return readMany(ids, () => false) as T[];
  }

  function getManyInSlices(ids: readonly string[]): T[] | Promise<T[]> {
    if (ids.length === 1) {
      const one = getInTurns(ids[0] as string);
      return one instanceof Promise ? one.then(listed) : listed(one);
    }
    // Records in memory may be dropped from there during the pauses.
    let known: readonly (T | undefined)[] = [];
    let large = new LargePage([]);
    const refuse = (rows: readonly Row[], records: readonly (T | undefined)[]) => {
      if (!isLarge(rows)) return false;
      known = records;
      large = new LargePage(rows);
      return true;
    };
    return readMany(ids, refuse) ?? large.parse<T>().then((read) => inOrder(ids, known, read));
  }

  function readMany(
    ids: readonly string[],
    refuses: (rows: readonly Row[], records: readonly (T | undefined)[]) => boolean,
  ): T[] | undefined {
    const records = ids.map(cached);
    const missing = ids.filter((_, at) => records[at] === undefined);
    if (missing.length === 0) return records as T[];
    const rows = reader.all(byIds, [listParam(missing)]);
    if (refuses(rows, records)) return undefined;
    return inOrder(ids, records, rows.map(keep));
  }

  function inOrder(ids: readonly string[], known: readonly (T | undefined)[], read: readonly T[]): T[] {
    const found = new Map(read.map((record) => [record.id, record]));
    return ids.flatMap((id, at) => known[at] ?? found.get(id) ?? []);
  }

  /**
   * Reads the ids of a page and takes the records from the cache. The ids are read as one value, because the driver takes
   * more than a microsecond for each row. Returns undefined if a record is missing in the cache: what a second statement
   * reads by id may belong to a later state of the file, so the whole page has to be read by one statement.
   */
  function findCached(query: Query<T>): T[] | undefined {
    const { sql, params } = selectPage(shape, query, ['id'], false);
    const ids = JSON.parse(reader.get(`SELECT json_group_array(id) FROM (${sql})`, params)?.[0] as string) as string[];
    const records = ids.map(cached);
    return records.every((record) => record !== undefined) ? records : undefined;
  }

  function findInFile(query: Query<T>): T[] | LargePage {
    const isSmall = query.limit <= maxPage;
    const found = cache.isEnabled && isSmall ? findCached(query) : undefined;
    if (found !== undefined) return found;
    const { sql, params } = selectPage(shape, query, ['doc', 'id'], false);
    const ofRow = (row: Row): T => cached(row[1] as string) ?? keep(row);
    if (query.limit === 1) {
      const row = reader.get(sql, params);
      return listed(row && ofRow(row));
    }
    const rows = reader.all(sql, params);
    if (!cachesQueries && isLarge(rows)) return new LargePage(rows);
    return rows.map(rows.length <= maxPage ? ofRow : ([doc]) => JSON.parse(doc as string) as T);
  }

  function find(query: Query<T>): T[] | LargePage {
    if (!cachesQueries || !cache.isEnabled) return findInFile(query);
    const question = JSON.stringify(query);
    const records = cache.found(table, question)?.map(cached);
    if (records?.every((record) => record !== undefined)) return records as T[];
    const found = findInFile(query);
    if (Array.isArray(found) && found.length <= maxPage) {
      const ids = found.map(({ id }) => id);
      cache.putFound(table, question, ids);
    }
    return found;
  }

  return {
    peek: (id) => cache.peek(table, id) as T | undefined,
    get,
    getInTurns,
    getMany,
    getManyInSlices,
    getManyUnlessLarge: (ids) => readMany(ids, isLarge),
    find,
  };
}

const listed = <T>(found: T | undefined): T[] => (found === undefined ? [] : [found]);
