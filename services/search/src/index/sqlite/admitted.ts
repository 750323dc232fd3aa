import type { IndexFile } from './file.js';
import { numbersIn } from './postings.js';
import type { Scope } from './scope.js';

/** What a scope admits: for each row of the tenant, less its first, 1 or 0. */
interface Kept {
  bits: Uint8Array;
  /** Length of the tenant's change log that it holds for. */
  changes: number;
}

export type AdmittedCache = Map<string, Kept>;

const MOST_KEPT = 200;
/** Rows that a set has room for beyond those there are. */
const ROOM = 1000;

/** The rows that a scope admits; undefined where it admits all. `matching` are the rows that matter. */
export function admittedRows(file: IndexFile, scope: Scope, matching: readonly number[]): Uint8Array | undefined {
  if (scope.conditions.length === 0) return undefined;
  if (scope.rows > file.limits.scope) return mark(new Uint8Array(scope.rows), select(file, scope, matching));
  const key = JSON.stringify([scope.tenant, scope.conditions, scope.params]);
  const kept = file.admitted.get(key) ?? { bits: new Uint8Array(0), changes: -1 };
  const changed = kept.changes < 0 || kept.bits.length < scope.rows ? undefined : scope.changes.since(kept.changes);
  if (changed === undefined) {
    kept.bits = mark(new Uint8Array(scope.rows + ROOM), select(file, scope));
  } else if (changed.length > 0) {
    for (const offset of changed) kept.bits[offset] = 0;
    mark(kept.bits, select(file, scope, changed));
  }
  kept.changes = scope.changes.length;
  keep(file.admitted, key, kept);
  return kept.bits;
}

function keep(cache: AdmittedCache, key: string, kept: Kept): void {
  cache.delete(key);
  cache.set(key, kept);
  const [oldest] = cache.keys();
  if (cache.size > MOST_KEPT && oldest !== undefined) cache.delete(oldest);
}

function mark(bits: Uint8Array, offsets: Float64Array): Uint8Array {
  for (const offset of offsets) bits[offset] = 1;
  return bits;
}

/** The admitted rows, of all or among some, less the tenant's first. */
function select(file: IndexFile, scope: Scope, among?: readonly number[]): Float64Array {
  const conditions = ['e.row BETWEEN ? AND ?', ...scope.conditions];
  const params = [scope.firstRow, scope.firstRow, scope.lastRow, ...scope.params];
  if (among !== undefined) {
    conditions.unshift('e.row IN (SELECT value + ? FROM json_each(?))');
    params.splice(1, 0, scope.firstRow, JSON.stringify(among));
  }
  const sql = `SELECT count(*), group_concat(e.row - ?, ' ') FROM entries e WHERE ${conditions.join(' AND ')}`;
  const [count, text] = file.db.get(sql, params) ?? [];
  return numbersIn(typeof text === 'string' ? text : '', Number(count));
}
