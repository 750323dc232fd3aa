import type { Collection, CollectionSpec, Condition, Query, StoredRecord, Where } from '@commonplace/kit/store';
import { createCachedReads, MAX_CACHED_PAGE } from './cached-reads.js';
import { explain } from './explain.js';
import type { Connection, Param, Row } from './file/binding.js';
import type { Scanner } from './file/scanner.js';
import { createFilteredReads } from './filtered-reads.js';
import { flatten } from './flatten.js';
import { splitByIndex, tableOfFew } from './index-part.js';
import { DOC_OF_SEVERAL, ELSEWHERE, type FoundPage, isElsewhere, isLarge, LargePage } from './large-pages.js';
import type { RecordCache } from './record-cache.js';
import type { TableShape } from './schema.js';
import { checkCount, selectPage } from './select.js';
import { byParts, type Chosen } from './substrings.js';
import { fieldOf, translate } from './translate.js';
import { cellText, exactNumber } from './values.js';

interface ReadContext {
  readonly reader: Connection;
  readonly scanner: Scanner;
  readonly cache: RecordCache;
}

/**
 * Creates the read operations of a collection. They run on the main thread's connection, where a call takes
 * microseconds and blocks the thread. Those that search in texts, or have to test or sort many records, run in another
 * thread.
 */
export function createCollection<T extends StoredRecord>(
  { reader, scanner, cache }: ReadContext,
  shape: TableShape,
  spec: CollectionSpec<T>,
): Collection<T> {
  const inThread = (where: Where<T>, sql: string, params: readonly Param[]): Promise<Row[]> =>
    scanner.all(groupOf(shape, where), sql, params);
  /**
   * Returns the only row of an aggregate of some fields. The driver takes a quarter of the time for one row that it takes for
   * a list.
   */
  const one = async (
    fields: readonly string[],
    where: Where<T>,
    sql: string,
    params: readonly Param[],
  ): Promise<Row | undefined> =>
    searchesText(where) || filtered.isLongAggregate(where, fields)
      ? (await inThread(where, sql, params))[0]
      : reader.get(sql, params);
  const { cachesQueries = false } = spec;
  const cached = createCachedReads<T>({ reader, scanner, cache }, shape, cachesQueries);
  const filtered = createFilteredReads(reader, cached, shape);
  const isFiltered = ({ where, limit }: Query<T>): boolean =>
    (limit <= MAX_CACHED_PAGE || cachesQueries) && !searchesText(where);

  /**
   * Returns a filter whose records an index of texts chooses if it searches for one among many. That index has the texts
   * of all tenants, so that it takes longer than testing few records.
   */
  const chosen = (where: Where<T>): Chosen<T> | Promise<Chosen<T>> =>
    searchesText(where) && !filtered.selectsFew(where)
      ? byParts(shape, where, (sql, params) => inThread(where, sql, params))
      : { shape, where };

  /** Returns whether a read in another thread has too many candidates for a statement that names their index. */
  const areMany = (where: Where<T>): boolean => searchesText(where) || !filtered.selectsFew(where);

  /** Returns a page: `read` if it was read already, otherwise from the file. */
  async function find(query: Query<T>, read: FoundPage<T> | undefined): Promise<T[]> {
    if (Array.isArray(read)) return read;
    if (read instanceof LargePage) return read.parse();
    const { shape: from, where } = await chosen(query.where);
    const isLong = read === ELSEWHERE || searchesText(query.where) || filtered.isLongQuery(query);
    const select = (column: 'doc' | typeof DOC_OF_SEVERAL) =>
      selectPage(from, { ...query, where }, [column], isLong && areMany(query.where));
    const { sql, params } = select(isLong ? 'doc' : DOC_OF_SEVERAL);
    let rows = isLong ? await inThread(query.where, sql, params) : reader.all(sql, params);
    if (rows.some(isElsewhere)) rows = await inThread(query.where, select('doc').sql, params);
    return isLarge(rows) ? new LargePage(rows).parse() : rows.map(([doc]) => JSON.parse(doc as string) as T);
  }

  /** Returns a count: `read` if it was read already, otherwise from the file. */
  async function count(
    where: Where<T>,
    limit: number | undefined,
    read: number | typeof ELSEWHERE | undefined,
  ): Promise<number> {
    if (typeof read === 'number') return read;
    const from = await chosen(where);
    const { sql, params } = translate(from.shape, from.where);
    const limitClause = limit === undefined ? '' : ` LIMIT ${checkCount(limit)}`;
    const isLong = read === ELSEWHERE || searchesText(where) || filtered.isLongAggregate(where, []);
    const source = isLong && areMany(where) ? from.shape.source : tableOfFew(shape, where, []);
    const statement = `SELECT count(*) FROM (SELECT 1 FROM ${source} WHERE ${sql}${limitClause})`;
    const row = isLong ? (await inThread(where, statement, params))[0] : reader.get(statement, params);
    return row?.[0] as number;
  }

  /** Returns the value of an aggregate by the values of a field, as one JSON value. */
  async function byValue(
    [by, ...others]: readonly [string, ...string[]],
    aggregate: string,
    where: Where<T>,
  ): Promise<Map<string, number>> {
    const { sql, params } = translate(shape, where);
    const value = fieldOf(shape, by);
    const groups = `SELECT ${value} AS cell, ${aggregate} AS value FROM ${shape.table} WHERE (${sql}) AND ${value} IS NOT NULL GROUP BY 1`;
    const row = await one(
      [by, ...others],
      where,
      `SELECT json_group_object(${cellText('cell')}, json(value)) FROM (${groups})`,
      params,
    );
    return new Map(Object.entries(JSON.parse(row?.[0] as string) as Record<string, number>));
  }

  const collection: Collection<T> = {
    spec,
    get: async (id) => cached.getInTurns(id),
    getMany: async (ids) => cached.getManyInSlices(ids),
    async find(asked) {
      const query = flat(asked);
      return find(query, isFiltered(query) ? filtered.find(query) : undefined);
    },
    async count(asked, limit) {
      const where = flatten(asked);
      const isCounted = limit !== undefined && !searchesText(where);
      return count(where, limit, isCounted ? filtered.count(where, checkCount(limit)) : undefined);
    },
    async countEach(wheres) {
      return Promise.all(wheres.map((where) => count(flatten(where), undefined, undefined)));
    },
    async findAndCount(asked, countLimit) {
      const query = flat(asked);
      const read = isFiltered(query) ? filtered.findAndCount(query, checkCount(countLimit)) : undefined;
      if (read === undefined) {
        const [found, counted] = await Promise.all([collection.find(query), collection.count(query.where, countLimit)]);
        return { found, count: counted };
      }
      const [found, counted] = await Promise.all([find(query, read.found), count(query.where, countLimit, read.count)]);
      return { found, count: counted };
    },
    async countBy(field, where) {
      return byValue([field], 'count(*)', flatten(where));
    },
    async sum(field, asked) {
      const where = flatten(asked);
      const { sql, params } = translate(shape, where);
      const row = await one(
        [field],
        where,
        `SELECT total(${fieldOf(shape, field)}) FROM ${shape.table} WHERE ${sql}`,
        params,
      );
      return row?.[0] as number;
    },
    async sumBy({ sum, by }, where) {
      return byValue([by, sum], exactNumber(`total(${fieldOf(shape, sum)})`), flatten(where));
    },
    async max(field, where) {
      const { sql, params } = translate(shape, where);
      const cell = reader.get(`SELECT max(${fieldOf(shape, field)}) FROM ${shape.table} WHERE ${sql}`, params)?.[0];
      return (cell ?? undefined) as never;
    },
    async maxBy({ max, by }, values) {
      const most = `(SELECT max(${fieldOf(shape, max)}) FROM ${shape.table} WHERE ${fieldOf(shape, by)} = j.value)`;
      const found = `SELECT j.value AS value, ${most} AS most FROM json_each(?) j`;
      const statement = `SELECT json_group_object(value, most) FROM (${found}) WHERE most IS NOT NULL`;
      const row = reader.get(statement, [JSON.stringify(values)]);
      return new Map(Object.entries(JSON.parse(row?.[0] as string) as Record<string, string>));
    },
    async explain(query) {
      return explain(reader, shape, flat(query));
    },
  };
  return collection;
}

/** Returns a query with a flat filter. */
function flat<T>(query: Query<T>): Query<T> {
  return query.where.and === undefined ? query : { ...query, where: flatten(query.where) };
}

/** Returns whether a filter searches for a substring, which requires reading every remaining record. */
function searchesText(where: Where<never>): boolean {
  return Object.values(where as Record<string, unknown>).some((entry) => {
    if (Array.isArray(entry)) return entry.some(searchesText);
    return typeof entry === 'object' && (entry as Condition | null)?.substring !== undefined;
  });
}

/** Returns the scanner group of a filter: the workspace or parent that it names, otherwise an empty text. */
function groupOf<T>(shape: TableShape, where: Where<T>): string {
  const { workspaceId } = where as { readonly workspaceId?: unknown };
  const group = typeof workspaceId === 'string' ? workspaceId : splitByIndex(shape, where, [])?.first;
  return String(group ?? '');
}
