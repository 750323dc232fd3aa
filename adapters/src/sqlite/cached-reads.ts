import type { Query, StoredRecord } from '@commonplace/kit/store';
import type { Connection, Row } from './file/binding.js';
import { portionsOf } from './file/portions.js';
import type { Scanner } from './file/scanner.js';
import {
  DOC_ALONE,
  DOC_OF_SEVERAL,
  ELSEWHERE,
  type FoundPage,
  isElsewhere,
  isLarge,
  LargePage,
} from './large-pages.js';
import type { RecordCache } from './record-cache.js';
import type { TableShape } from './schema.js';
import { selectPage } from './select.js';
import { LIST, listParam } from './values.js';

/** Reads of the records of a collection, which use the cache where they can. */
export interface CachedReads<T> {
  /** Returns a record if it is in memory, for a test of it rather than for a reader. */
  peek(id: string): T | undefined;
  get(id: string): T | undefined;
  /** Returns the same; another thread reads a large record, which is not cached. */
  getInTurns(id: string): T | undefined | Promise<T | undefined>;
  /** Returns the records that exist, in the order of `ids`. */
  getMany(ids: readonly string[]): T[];
  /**
   * Returns the same. If those that are not in memory are large together, they are parsed with pauses, and not cached; another
   * thread reads them if one is large.
   */
  getManyInSlices(ids: readonly string[]): T[] | Promise<T[]>;
  /** Returns the same; undefined if those that are not in memory, or one of them, are large. */
  getManyUnlessLarge(ids: readonly string[]): T[] | undefined;
  /**
   * Returns a page; `elsewhere` if one of its records is large. If they are large together, or more than are cached of a page,
   * they are not cached.
   */
  find(query: Query<T>): FoundPage<T>;
}

/** Largest page whose records are cached. Background work reads larger ones, once. */
export const MAX_CACHED_PAGE = 200;
/** The same for collections that cache queries: a person may have a role in thousands of workspaces. */
const MAX_CACHED_QUERY = 1000;

export function createCachedReads<T extends StoredRecord>(
  { reader, scanner, cache }: { readonly reader: Connection; readonly scanner: Scanner; readonly cache: RecordCache },
  shape: TableShape,
  cachesQueries: boolean,
): CachedReads<T> {
  const { table } = shape;
  const maxPage = cachesQueries ? MAX_CACHED_QUERY : MAX_CACHED_PAGE;
  const byId = (doc: string) => `SELECT ${doc} FROM ${table} WHERE id = ?`;
  const byIds = (columns: string) => `SELECT ${columns} FROM ${table} WHERE id IN ${LIST}`;
  const [wholeById, aloneById, severalByIds] = [byId('doc'), byId(DOC_ALONE), byIds(DOC_OF_SEVERAL)];
  const cached = (id: string): T | undefined => cache.get(table, id) as T | undefined;
  const keep = ([doc]: Row): T => cache.put(table, JSON.parse(doc as string) as T, (doc as string).length);

  function get(id: string): T | undefined {
    const there = cached(id);
    if (there !== undefined) return there;
    const row = rowOf(wholeById, id);
    return row && keep(row);
  }

  function getInTurns(id: string): T | undefined | Promise<T | undefined> {
    const there = cached(id);
    if (there !== undefined) return there;
    const row = rowOf(aloneById, id);
    if (row === undefined) return undefined;
    return isElsewhere(row) ? readElsewhere([[id]]).then(([record]) => record) : keep(row);
  }

  /** Reads records in another thread, one portion after the other. Those that have been deleted are left out. */
  async function readElsewhere(portions: readonly (readonly string[])[]): Promise<T[]> {
    const records: T[] = [];
    for (const ids of portions) {
      // The records may have been deleted.
      const [first] = ids;
      if (first === undefined) continue;
      // A record takes its own turns, so that readers of one do not delay those of others.
      const rows = await scanner.all(first, byIds('doc'), [listParam(ids)]);
      records.push(...(await new LargePage(rows).parse<T>()));
    }
    return records;
  }

  /** Reads a record from the file. The driver takes about four times as long to start a list of rows. */
  function rowOf(statement: string, id: string): Row | undefined {
    // No id contains NUL, and NUL cannot be bound.
    return id.includes('\0') ? undefined : reader.get(statement, [id]);
  }

  function getMany(ids: readonly string[]): T[] {
    if (ids.length === 1) return listed(get(ids[0] as string));
    const { known, missing } = lookUp(ids);
    return inOrder(ids, known, missing.length === 0 ? [] : reader.all(byIds('doc'), [listParam(missing)]).map(keep));
  }

  function getManyInSlices(ids: readonly string[]): T[] | Promise<T[]> {
    if (ids.length === 1) {
      const one = getInTurns(ids[0] as string);
      return one instanceof Promise ? one.then(listed) : listed(one);
    }
    // Records in memory may be dropped from there during the pauses.
    const { known, missing } = lookUp(ids);
    const read = readMissing(missing);
    if (Array.isArray(read)) return inOrder(ids, known, read);
    const parsed = read === ELSEWHERE ? readElsewhere(inPortions(missing)) : read.parse<T>();
    return parsed.then((records) => inOrder(ids, known, records));
  }

  function getManyUnlessLarge(ids: readonly string[]): T[] | undefined {
    const { known, missing } = lookUp(ids);
    const read = readMissing(missing);
    return Array.isArray(read) ? inOrder(ids, known, read) : undefined;
  }

  /** Returns the records in memory, each at the place of its id, and the ids of the others. */
  function lookUp(ids: readonly string[]) {
    const known = ids.map(cached);
    return { known, missing: ids.filter((_, at) => known[at] === undefined) };
  }

  /** Reads records of the file, in any order. */
  function readMissing(ids: readonly string[]): FoundPage<T> {
    if (ids.length === 0) return [];
    const rows = reader.all(severalByIds, [listParam(ids)]);
    if (rows.some(isElsewhere)) return ELSEWHERE;
    return isLarge(rows) ? new LargePage(rows) : rows.map(keep);
  }

  /** Divides ids by the sizes of their records. */
  function inPortions(ids: readonly string[]): string[][] {
    const sizes = reader.all(byIds('id, octet_length(doc)'), [listParam(ids)]);
    return portionsOf(sizes, ([, size]) => size as number).map((rows) => rows.map(([id]) => id as string));
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

  function findInFile(query: Query<T>): FoundPage<T> {
    const isSmall = query.limit <= maxPage;
    const found = cache.isEnabled && isSmall ? findCached(query) : undefined;
    if (found !== undefined) return found;
    const { sql, params } = selectPage(shape, query, [query.limit === 1 ? DOC_ALONE : DOC_OF_SEVERAL, 'id'], false);
    const ofRow = (row: Row): T => cached(row[1] as string) ?? keep(row);
    if (query.limit === 1) {
      const row = reader.get(sql, params);
      return row !== undefined && isElsewhere(row) ? ELSEWHERE : listed(row && ofRow(row));
    }
    const rows = reader.all(sql, params);
    if (rows.some(isElsewhere)) return ELSEWHERE;
    if (!cachesQueries && isLarge(rows)) return new LargePage(rows);
    return rows.map(rows.length <= maxPage ? ofRow : ([doc]) => JSON.parse(doc as string) as T);
  }

  function find(query: Query<T>): FoundPage<T> {
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
    getManyUnlessLarge,
    find,
  };
}

const listed = <T>(found: T | undefined): T[] => (found === undefined ? [] : [found]);
