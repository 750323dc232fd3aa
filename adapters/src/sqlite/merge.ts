import type { Condition, Scalar, SortTerm, Where } from '@commonplace/kit/store';
import { columnOf, type TableShape } from './schema.js';
import { fieldOf, join, type Sql, translate } from './translate.js';
import { valueExpression } from './values.js';

/**
 * A field with several accepted values, combined with an order: `workspace in (a, b), by -updatedAt`. With an index
 * over both, the records of each value are ordered already. SQLite merges them and reads no more than a page, where it
 * would otherwise sort all matching records.
 */
export interface Merge<T> {
  readonly field: string;
  readonly values: readonly Scalar[];
  /** The remaining conditions of the query. */
  readonly rest: Where<T>;
}

/**
 * Maximum number of values to merge; with more, the records are sorted. SQLite allows up to 500 arms, and each has to
 * be prepared.
 */
const MAX_VALUES = 64;

/** Returns how a query can be merged; undefined if no index gives the order of each value, or no merge is needed. */
export function findMerge<T>(shape: TableShape, where: Where<T>, terms: readonly SortTerm[]): Merge<T> | undefined {
  if (terms.some(({ descending }) => descending !== terms[0]?.descending)) return undefined;
  const order = terms.filter(({ field }) => field !== 'id').map(({ field }) => field);
  const entries = Object.entries(where) as [string, Scalar | Condition | undefined][];
  const equal = new Set(entries.filter(([, entry]) => isScalar(entry)).map(([field]) => field));
  for (const [field, entry] of entries) {
    if (entry === undefined || isScalar(entry) || entry.in === undefined) continue;
    const { in: list, ...others } = entry;
    const values = [...new Set(list)];
    const plain = values.every((value) => valueExpression(value).sql === '?');
    if (values.length < 2 || values.length > MAX_VALUES || !plain) continue;
    const serves = (fields: readonly string[]): boolean => {
      const index = inOrder(fields);
      const head = index.slice(0, index.length - order.length);
      return (
        head.includes(field) &&
        head.every((name) => name === field || equal.has(name)) &&
        order.every((name, at) => index[head.length + at] === name)
      );
    };
    if (shape.indexes.some(serves)) return { field, values, rest: { ...where, [field]: others } };
  }
  return undefined;
}

/** Returns the fields of an index up to its id, after which further fields do not change the order. */
function inOrder(fields: readonly string[]): readonly string[] {
  const id = fields.indexOf('id');
  return id < 0 ? fields : fields.slice(0, id);
}

/** Returns the arms of a merge, one for each value; `behind` is the keyset condition of each arm. */
export function mergeArms<T>(
  shape: TableShape,
  { field, values, rest }: Merge<T>,
  terms: readonly SortTerm[],
  behind: readonly Sql[],
  passed: SortTerm | undefined,
  selected: readonly string[],
): Sql {
  const columns = [...selected, ...terms.map((term) => fieldOf(shape, term.field))].join(', ');
  const equal = { sql: `${columnOf(field)} = ?`, params: [] };
  const conditions = join([equal, translate(shape, rest, false, passed), ...behind], ' AND ');
  const sql = `SELECT ${columns} FROM ${shape.table} WHERE ${conditions.sql}`;
  // The list is padded with NULL, which equals nothing, to a power of two, so that few statements cover all lengths.
  const count = 2 ** Math.ceil(Math.log2(values.length));
  const arms = Array.from({ length: count }, (_, at) => ({ sql, params: [values[at] ?? null, ...conditions.params] }));
  return join(arms as Sql[], ' UNION ALL ');
}

function isScalar(entry: unknown): entry is Scalar {
  return entry !== undefined && typeof entry !== 'object';
}
