import type { SortTerm, Where } from '@commonplace/kit/store';
import { columnOf, indexName, type TableShape } from './schema.js';
import type { Streams } from './streams.js';
import { join, type Sql, translate } from './translate.js';
import { LIST_TABLE, listParam } from './values.js';

interface MergedPage {
  readonly terms: readonly SortTerm[];
  /** Conditions of each record. */
  readonly each: readonly Sql[];
  /** The keyset condition. */
  readonly after: readonly Sql[];
  readonly columns: readonly string[];
  readonly limit: Sql;
}

/**
 * Returns the statement that reads a page of merged streams. Its recursive table is a queue of the next record of each
 * stream, of which SQLite takes the first one in the order; then it looks up the one behind it in the same stream. A record
 * may be in several streams, so the page is of distinct rows.
 */
export function selectMerged<T>(shape: TableShape, all: readonly Streams<T>[], page: MergedPage): Sql {
  const { table } = shape;
  const values = range(Math.max(...all.map(({ lists }) => lists.length))).map((at) => `v${at}`);
  const places = page.terms.map((_, at) => `k${at}`);
  const descending = page.terms[0]?.descending ? ' DESC' : '';
  const ordered = (names: readonly string[]) => names.map((name) => `${name}${descending}`).join(', ');
  const { sql, params } = queueOf(shape, all, page, values, places);
  const byColumn = ordered(places.map((_, at) => String(values.length + at + 2)));
  return {
    sql:
      `WITH RECURSIVE merged(${['number', ...values, ...places, 'record'].join(', ')}) AS (${sql} ORDER BY ${byColumn}) ` +
      `SELECT ${page.columns.join(', ')} FROM (SELECT DISTINCT ${places.join(', ')}, record FROM merged${page.limit.sql}) p ` +
      `CROSS JOIN ${table} d ON d.rowid = p.record ORDER BY ${ordered(places.map((place) => `p.${place}`))}`,
    params: [...params, ...page.limit.params],
  };
}

/** Returns the queries that fill the queue: the first record of each stream, and the one behind a record of it. */
function queueOf<T>(
  shape: TableShape,
  all: readonly Streams<T>[],
  page: MergedPage,
  values: readonly string[],
  places: readonly string[],
): Sql {
  const { table } = shape;
  const keys = page.terms.map(({ field }) => columnOf(field));
  const found = [...keys.map((key) => `t.${key}`), 't.rowid'];
  const firsts = all.map((streams, number): Sql => {
    const { sql, params } = nextOf(shape, streams, page, (at) => `j${at}.value`, page.after);
    const from = [...streams.lists.map((_, at) => `${LIST_TABLE} j${at}`), `${table} t`].join(' CROSS JOIN ');
    const of = values.map((_, at) => (at < streams.lists.length ? `j${at}.value` : 'NULL'));
    return {
      sql: `SELECT ${[number, ...of, ...found].join(', ')} FROM ${from} WHERE ${sql}`,
      params: [...streams.lists.map((list) => listParam(list.values)), ...params],
    };
  });
  const row = (names: readonly string[]) => (names.length === 1 ? names.join() : `(${names.join(', ')})`);
  const operator = page.terms[0]?.descending ? '<' : '>';
  const behind = { sql: `${row(keys)} ${operator} ${row(places.map((place) => `m.${place}`))}`, params: [] };
  const nexts = all.map((streams, number): Sql => {
    const { sql, params } = nextOf(shape, streams, page, (at) => `m.v${at}`, [behind]);
    const of = [number, ...values.map((value) => `m.${value}`), ...found].join(', ');
    return { sql: `SELECT ${of} FROM merged m CROSS JOIN ${table} t WHERE m.number = ${number} AND ${sql}`, params };
  });
  return join([...firsts, ...nexts], ' UNION ALL ');
}

/** Returns the condition that `t` is the first record of a stream that fulfils some conditions. */
function nextOf<T>(
  shape: TableShape,
  { index, lists, served, rest }: Streams<T>,
  { terms, each }: MergedPage,
  valueAt: (list: number) => string,
  behind: readonly Sql[],
): Sql {
  const equal = lists.map(({ field }, at) => ({ sql: `${columnOf(field)} = ${valueAt(at)}`, params: [] }));
  const where = (rest.length === 0 ? served : { and: [served, { or: rest }] }) as Where<T>;
  const { sql, params } = join(
    [...equal, translate(shape, where, true, behind.length > 0 ? terms[0] : undefined), ...each, ...behind],
    ' AND ',
  );
  const source = `${shape.table} INDEXED BY ${indexName(shape.table, index)}`;
  const order = terms.map(({ field, descending }) => `${columnOf(field)}${descending ? ' DESC' : ''}`).join(', ');
  return { sql: `t.rowid = (SELECT rowid FROM ${source} WHERE ${sql} ORDER BY ${order} LIMIT 1)`, params };
}

const range = (length: number): number[] => Array.from({ length }, (_, at) => at);
