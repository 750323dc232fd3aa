import type { Param, Row } from '@commonplace/kit/store/sqlite';
import { NAME_WEIGHT } from '../../domain/score.js';
import type { IndexFile } from './file.js';
import type { Scope } from './scope.js';

export interface Ranked {
  readonly row: number;
  /** BM25; 0 or more. */
  readonly weight: number;
}

/** BM25, with more for names; 0 or more. */
export const WEIGHT = `-bm25(terms, ${NAME_WEIGHT}.0, 1.0)`;

/** A full-text table, and what a row of it weighs. */
export interface Terms {
  readonly table: string;
  readonly weight: string;
}

export const TERMS: Terms = { table: 'terms', weight: WEIGHT };
export const COMMENT_TERMS: Terms = { table: 'comment_terms', weight: '-bm25(comment_terms)' };

/** The best of those that match, best first; rows break ties. */
export function rank(file: IndexFile, match: string, scope: Scope, limit: number, least?: number): Ranked[] {
  const { from, params } = source(match, scope, least);
  const sql = `SELECT f.rowid, ${WEIGHT} AS weight ${from} ORDER BY weight DESC, f.rowid LIMIT ?`;
  return file.db.all(sql, [...params, limit]).map(([row, weight]) => ({ row: Number(row), weight: Number(weight) }));
}

/** How many match, counted up to a limit, and the last row that was counted. */
export function countMatches(
  file: IndexFile,
  match: string,
  scope: Scope,
  limit: number,
  least?: number,
  terms = TERMS,
): { count: number; lastRow: number } {
  const { from, params } = source(match, scope, least, scope.conditions.length > 0, terms);
  const sql = `SELECT count(*), max(row) FROM (SELECT f.rowid AS row ${from} LIMIT ?)`;
  const [count, lastRow] = file.db.get(sql, [...params, limit]) ?? [];
  return { count: Number(count), lastRow: Number(lastRow) };
}

/** Columns of the entries that match, of some where there are too many. */
export function matchingEntries(file: IndexFile, match: string, scope: Scope, columns: string, limit: number): Row[] {
  const { from, params } = source(match, scope, undefined, true);
  return file.db.all(`SELECT ${columns} ${from} LIMIT ?`, [...params, limit]);
}

function source(
  match: string,
  scope: Scope,
  least?: number,
  entries = scope.conditions.length > 0,
  { table, weight } = TERMS,
): { from: string; params: Param[] } {
  const conditions = [`${table} MATCH ?`, 'f.rowid BETWEEN ? AND ?', ...scope.conditions];
  const params = [match, scope.firstRow, scope.lastRow, ...scope.params];
  if (least !== undefined) {
    conditions.push(`${weight} >= ?`);
    params.push(least);
  }
  const join = entries ? 'CROSS JOIN entries e ON e.row = f.rowid' : '';
  return { from: `FROM ${table} f ${join} WHERE ${conditions.join(' AND ')}`, params };
}

/** Columns of some entries, by their rows. */
export function columnsOf(file: IndexFile, rows: readonly number[], columns: string): Row[] {
  const sql = `SELECT ${columns} FROM json_each(?) j CROSS JOIN entries e ON e.row = j.value`;
  return file.db.all(sql, [JSON.stringify(rows)]);
}
