import type { Condition, Query, StoredRecord, Where } from '@commonplace/kit/store';
import type { CachedReads } from './cached-reads.js';
import type { Connection } from './file/binding.js';
import { candidatesOf, isEmpty, isInOneIndex, splitByIndex, tableOfFew } from './index-part.js';
import { ELSEWHERE, type FoundPage } from './large-pages.js';
import { createMatcher, isMatchable } from './matches.js';
import { elementTable, indexName, type TableShape } from './schema.js';
import { selectPage, streamsOf } from './select.js';
import { countStreams, type Streams, selectionOf } from './streams.js';
import { join, oneOf, type Sql, translate } from './translate.js';

/**
 * Reads whose filter has conditions that no index serves, so that each candidate has to be tested, or whose order no index
 * has, so that all have to be sorted. They look at a limited number of candidates; the others would block the event loop,
 * so another thread has to look at them.
 */
export interface FilteredReads<T> {
  /**
   * Returns whether a query would test or sort more candidates than the event loop has time for.
   */
  isLongQuery(query: Query<T>): boolean;
  /**
   * Returns whether an aggregate of some fields would read or test more candidates than the event loop has time for.
   */
  isLongAggregate(where: Where<T>, fields: readonly string[]): boolean;
  /** Returns whether an index selects few records by other conditions, each of which can be tested. */
  selectsFew(where: Where<T>): boolean;
  /** Returns a page; `elsewhere` if it needs more candidates. */
  find(query: Query<T>): FoundPage<T>;
  /** Returns the number of matches up to `limit`; `elsewhere` if it needs more candidates. */
  count(where: Where<T>, limit: number): number | typeof ELSEWHERE;
  /**
   * Returns a page and the number of matches up to `countLimit`, for which it tests each candidate once; undefined if
   * separate reads serve the query better.
   */
  findAndCount(query: Query<T>, countLimit: number): CountedRead<T> | undefined;
}

interface CountedRead<T> {
  readonly found: FoundPage<T>;
  readonly count: number | typeof ELSEWHERE;
}

/** Maximum number of candidates of a page and of a count that are tested in memory: less than a millisecond. */
const MAX_CANDIDATES = { page: 1000, count: 2000 };
/**
 * Maximum number of candidates that are read from the file for a page or a count, to test them in memory or in SQLite: about
 * two milliseconds, and up to ten if none of their pages is in memory.
 */
const MAX_READ = 250;
/** Maximum size of the candidates that SQLite itself tests or sorts, in bytes of JSON: some five milliseconds. */
const MAX_CANDIDATE_BYTES = 2 ** 20;

/** Maximum number of records that SQLite looks up for a page one by one: some three milliseconds. */
const MAX_LOOKUPS = 500;

/** Maximum number of alternatives whose candidates are counted; SQLite allows 500 in one statement. */
const MAX_SELECTIONS = 64;

export function createFilteredReads<T extends StoredRecord>(
  reader: Connection,
  cached: CachedReads<T>,
  shape: TableShape,
): FilteredReads<T> {
  const idsOf = ({ sql, params }: Sql): string[] =>
    JSON.parse(reader.get(`SELECT json_group_array(id) FROM (${sql})`, params)?.[0] as string) as string[];

  /**
   * Returns the first `wanted` matches among candidates; undefined if too many of them, or too large ones, are not in
   * memory.
   */
  function matchesOf(ids: readonly string[], rest: Where<T>, wanted: number): T[] | undefined {
    const matches = createMatcher(rest);
    const found: T[] = [];
    let read = 0;
    for (let at = 0; at < ids.length && found.length < wanted; at += CHUNK) {
      const chunk = ids.slice(at, at + CHUNK);
      const inMemory: T[] = [];
      for (const id of chunk) {
        const record = cached.peek(id);
        if (record !== undefined) inMemory.push(record);
      }
      read += chunk.length - inMemory.length;
      if (read > MAX_READ) return undefined;
      const records = inMemory.length === chunk.length ? inMemory : cached.getManyUnlessLarge(chunk);
      if (records === undefined) return undefined;
      for (const record of records) if (matches(record)) found.push(record);
    }
    return found.slice(0, wanted);
  }

  /** Runs reads that see the same state of the file. */
  function inSnapshot<R>(read: () => R): R {
    reader.run('BEGIN');
    try {
      return read();
    } finally {
      reader.run('COMMIT');
    }
  }

  function isLongQuery(query: Query<T>): boolean {
    const streams = streamsOf(shape, query, false);
    if (streams.length > 0 && streams.every(({ rest }) => rest.length === 0)) {
      const room = MAX_LOOKUPS - countStreams(streams);
      return query.limit + (query.offset ?? 0) > room && (room < 0 || haveMore(streams, room));
    }
    return areMany(candidatesOf(shape, query.where, orderOf(query)));
  }

  /** Returns whether streams, whose indexes serve their whole filters, have more than `most` records. */
  function haveMore(streams: readonly Streams<T>[], most: number): boolean {
    const parts = streams.map((stream) => {
      // An index on a field that few records have needs a condition that excludes the others.
      const present = stream.index.filter((field) => shape.sparse.has(field));
      const isPresent = Object.fromEntries(present.map((field) => [field, { exists: true }])) as Where<T>;
      const { sql, params } = translate(shape, { and: [selectionOf(stream), isPresent] } as Where<T>);
      const table = `${shape.table} INDEXED BY ${indexName(shape.table, stream.index)}`;
      return { sql: `SELECT * FROM (SELECT 1 FROM ${table} WHERE ${sql} LIMIT ${most + 1})`, params };
    });
    const { sql, params } = join(parts, ' UNION ALL ');
    return (reader.get(`SELECT count(*) FROM (${sql})`, params)?.[0] as number) > most;
  }

  /** Returns whether a count tests too many candidates. */
  const isLongCount = (where: Where<T>): boolean => areMany(candidatesOf(shape, where, []));

  function isLongAggregate(where: Where<T>, fields: readonly string[]): boolean {
    const isInIndex = isInOneIndex(shape, where, fields);
    return areMany(candidatesOf(shape, where, [], !isInIndex), isInIndex);
  }

  /** Returns whether the selected candidates are too many or, unless an index has all that is read, too large. */
  function areMany(selections: readonly Where<T>[], isInIndex = false): boolean {
    if (selections.length === 0) return false;
    if (selections.length > MAX_SELECTIONS || sumOf(selections.map(lookupsOf)) > MAX_LOOKUPS) return true;
    const most = isInIndex ? MAX_CANDIDATES.page : MAX_READ;
    // The index alone counts them, so that no record of too many is looked up.
    if (totalOf('1', selections, most + 1) > most) return true;
    // The length of a text is stored before it, so that the text is not read.
    return !isInIndex && totalOf('octet_length(doc)', selections, most) > MAX_CANDIDATE_BYTES;
  }

  /** Adds up a value over the first `limit` candidates of each selection. */
  function totalOf(value: string, selections: readonly Where<T>[], limit: number): number {
    const parts = selections.map((selection) => {
      const { sql, params } = selectedBy(selection, limit);
      const values = `SELECT ${value} AS value FROM ${shape.table} WHERE ${sql} LIMIT ${limit}`;
      return { sql: `SELECT * FROM (${values})`, params };
    });
    const { sql, params } = join(parts, ' UNION ALL ');
    return reader.get(`SELECT total(value) FROM (${sql})`, params)?.[0] as number;
  }

  /**
   * Translates a condition by which an index selects candidates. SQLite makes a list of the ids by elements first, so that
   * list is limited.
   */
  function selectedBy(selection: Where<T>, limit: number): Sql {
    const [[field, entry] = ['', undefined]] = Object.entries(selection) as [string, Condition | undefined][];
    if (!shape.many.has(field)) return translate(shape, selection);
    const { contains, containsAny = contains === undefined ? [] : [contains] } = entry ?? {};
    const { sql, params } = oneOf('value', containsAny);
    // A record that has several of the elements counts once.
    const ids = `SELECT ${containsAny.length > 1 ? 'DISTINCT ' : ''}id FROM ${elementTable(shape.table, field)} WHERE ${sql} LIMIT ${limit}`;
    return { sql: `id IN (${ids})`, params };
  }

  function selectsFew(where: Where<T>): boolean {
    const part = splitByIndex(shape, where, []);
    if (part === undefined) return false;
    const { sql, params } = translate(shape, part.served);
    const more = `SELECT 1 FROM ${shape.table} WHERE ${sql} LIMIT 1 OFFSET ${MAX_CANDIDATES.page}`;
    return reader.get(more, params) === undefined;
  }

  /** Returns a page of the matches. Candidates were only peeked at; what is returned counts as used. */
  const pageOf = (found: readonly T[], from: number, to: number): T[] =>
    cached.getMany(found.slice(from, to).map(({ id }) => id));

  function find(query: Query<T>, inMemory = true): FoundPage<T> {
    const inOrder = splitByIndex(shape, query.where, orderOf(query));
    if (inOrder === undefined && isLongQuery(query)) return ELSEWHERE;
    const part = inOrder ?? (query.sort === undefined ? splitByIndex(shape, query.where, []) : undefined);
    if (part === undefined || isEmpty(part.rest)) return cached.find(query);
    const { offset = 0, limit } = query;
    return inSnapshot(() => {
      const window = { ...query, where: part.served, limit: MAX_CANDIDATES.page, offset: 0 };
      const ids = idsOf(selectPage(shape, window, ['id']));
      const wanted = offset + limit;
      const found = inMemory && isMatchable(part.rest) ? matchesOf(ids, part.rest, wanted) : undefined;
      const isAll = ids.length < MAX_CANDIDATES.page;
      if (found !== undefined && (isAll || found.length === wanted)) return pageOf(found, offset, wanted);
      return isAll && !isLongQuery(query) ? cached.find(query) : ELSEWHERE;
    });
  }

  function count(where: Where<T>, limit: number, inMemory = true): number | typeof ELSEWHERE {
    const part = splitByIndex(shape, where, []);
    // A filter by elements of an array alone tests no candidates, and stops at the limit.
    const testsNone = Object.keys(where).length === 1 && where.or === undefined;
    if (part === undefined && !testsNone && isLongCount(where)) return ELSEWHERE;
    if (part === undefined || isEmpty(part.rest)) return countAll(where, limit);
    return inSnapshot(() => {
      const { sql, params } = translate(shape, part.served);
      const window = `SELECT id FROM ${shape.table} WHERE ${sql} LIMIT ${MAX_CANDIDATES.count}`;
      const ids = idsOf({ sql: window, params });
      const found = inMemory && isMatchable(part.rest) ? matchesOf(ids, part.rest, limit) : undefined;
      const isAll = ids.length < MAX_CANDIDATES.count;
      if (found !== undefined && (isAll || found.length === limit)) return found.length;
      return isLongCount(where) ? ELSEWHERE : countAll(where, limit);
    });
  }

  function findAndCount(query: Query<T>, countLimit: number): CountedRead<T> | undefined {
    const { where, limit, offset = 0, after } = query;
    const part = splitByIndex(shape, where, orderOf(query));
    if (part === undefined || after !== undefined || isEmpty(part.rest) || !isMatchable(part.rest)) return undefined;
    const inAnyOrder = splitByIndex(shape, where, []);
    // Without the order, another index yields fewer candidates.
    if (inAnyOrder !== undefined && sizeOf(inAnyOrder.served) > sizeOf(part.served)) return undefined;
    const tested = inSnapshot((): CountedRead<T> | undefined => {
      const window = { ...query, where: part.served, limit: MAX_CANDIDATES.count, offset: 0 };
      const ids = idsOf(selectPage(shape, window, ['id']));
      const wanted = offset + limit;
      const found = matchesOf(ids, part.rest, Math.max(wanted, countLimit));
      if (found === undefined) return undefined;
      const isAll = ids.length < MAX_CANDIDATES.count;
      return {
        found: isAll || found.length >= wanted ? pageOf(found, offset, wanted) : ELSEWHERE,
        count: isAll || found.length >= countLimit ? Math.min(found.length, countLimit) : ELSEWHERE,
      };
    });
    // Too many candidates are not in memory, which holds for a page and a count of their own as well.
    return tested ?? { found: find(query, false), count: count(where, countLimit, false) };
  }

  function countAll(where: Where<T>, limit: number): number {
    const { sql, params } = translate(shape, where);
    const matches = `SELECT 1 FROM ${tableOfFew(shape, where, [])} WHERE ${sql} LIMIT ?`;
    return reader.get(`SELECT count(*) FROM (${matches})`, [...params, limit])?.[0] as number;
  }

  return { isLongQuery, isLongAggregate, selectsFew, find, count, findAndCount };
}

const sizeOf = (where: Where<never>): number => Object.keys(where).length;

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** Returns how often an index is searched for a selection: once for each combination of the values in its lists. */
function lookupsOf(selection: Where<never>): number {
  const lists = Object.values(selection as Record<string, Condition>).map(({ in: values }) => values?.length ?? 1);
  return lists.reduce((product, length) => product * length, 1);
}

/** Returns the fields that a query sorts by; none if any order will do. */
const orderOf = <T>({ sort = [], anyOrder = false }: Query<T>): string[] =>
  sort.length > 0 || anyOrder ? sort.map((field) => (field.startsWith('-') ? field.slice(1) : field)) : ['id'];

/** Number of candidates that are read together. */
const CHUNK = 100;
