import type { LRUCache } from 'lru-cache';
import type { IndexFile } from './file.js';
import { numbersIn } from './numbers.js';
import type { Scope } from './scope.js';

/** Holds the rows that a scope admits: 1 or 0 for each row of the tenant, by offset from its first. */
interface AdmittedRows {
  bits: Uint8Array;
  /** Length of the tenant's change log up to which the bits are valid. */
  changes: number;
}

export type AdmittedCache = LRUCache<string, AdmittedRows>;

/** Rows that a new bit set has room for beyond the existing ones. */
const SPARE_ROWS = 1000;

/**
 * Returns the rows that a scope admits, or undefined when it admits all. If `matching` is given, only these rows need
 * to be correct.
 */
export function admittedRows(file: IndexFile, scope: Scope, matching?: readonly number[]): Uint8Array | undefined {
  if (scope.conditions.length === 0) return undefined;
  if (scope.named) return mark(new Uint8Array(scope.rows), select(file, scope));
  if (matching !== undefined && scope.rows > file.limits.scope) {
    return mark(new Uint8Array(scope.rows), select(file, scope, matching));
  }
  const key = JSON.stringify([scope.tenant.number, scope.conditions, scope.params]);
  const kept = upToDate(file, scope, file.admitted.get(key));
  file.admitted.set(key, kept);
  return kept.bits;
}

function upToDate(file: IndexFile, scope: Scope, kept: AdmittedRows | undefined): AdmittedRows {
  const changes = scope.changes.length;
  const changed = kept === undefined ? undefined : scope.changes.since(kept.changes);
  if (kept === undefined || changed === undefined) {
    return { bits: mark(new Uint8Array(scope.rows + SPARE_ROWS), select(file, scope)), changes };
  }
  let { bits } = kept;
  if (bits.length < scope.rows) {
    bits = new Uint8Array(Math.ceil(scope.rows * 1.2) + SPARE_ROWS);
    bits.set(kept.bits);
  }
  if (changed.length > 0) {
    for (const offset of changed) bits[offset] = 0;
    mark(bits, select(file, scope, changed));
  }
  return { bits, changes };
}

function mark(bits: Uint8Array, offsets: Float64Array): Uint8Array {
  for (const offset of offsets) bits[offset] = 1;
  return bits;
}

/** Returns the offsets of admitted rows, among all rows or those of `among`. */
function select(file: IndexFile, scope: Scope, among?: readonly number[]): Float64Array {
  // Named entries are few: `+` makes SQLite look them up instead of scanning all rows.
  const conditions = [scope.named ? '+e.row BETWEEN ? AND ?' : 'e.row BETWEEN ? AND ?', ...scope.conditions];
  const params = [scope.firstRow, scope.firstRow, scope.lastRow, ...scope.params];
  if (among !== undefined) {
    conditions.unshift('e.row IN (SELECT value + ? FROM json_each(?))');
    params.splice(1, 0, scope.firstRow, JSON.stringify(among));
  }
  const sql = `SELECT count(*), group_concat(e.row - ?, ' ') FROM entries e WHERE ${conditions.join(' AND ')}`;
  const [count, text] = file.db.get(sql, params) ?? [];
  return numbersIn(typeof text === 'string' ? text : '', Number(count));
}
