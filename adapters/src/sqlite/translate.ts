import type { Condition, Scalar, SortTerm, Where } from '@commonplace/kit/store';
import { afterPrefix } from '../store/prefix.js';
import type { Param } from './file/binding.js';
import { columnOf, elementTable, type TableShape } from './schema.js';
import { elementsQuery, fieldExpression, LIST, listParam, MIN_BLOB, MIN_TEXT, valueExpression } from './values.js';

/** A piece of SQL with the parameters of its placeholders, in order. */
export interface Sql {
  readonly sql: string;
  readonly params: readonly Param[];
}

const ALL: Sql = { sql: '1', params: [] };
const NONE: Sql = { sql: '0', params: [] };

/** Joins pieces of SQL with a separator. */
export function join(pieces: readonly Sql[], by: string): Sql {
  return { sql: pieces.map(({ sql }) => sql).join(by), params: pieces.flatMap(({ params }) => params) };
}

/** Returns a field as SQL: its column, or an expression that reads it from the document. */
export function fieldOf(shape: TableShape, field: string): string {
  const plain = field === 'id' || field === 'version' || shape.columns.has(field);
  return plain ? columnOf(field) : `(${fieldExpression(field)})`;
}

/**
 * Translates a filter into an SQL condition. Field names are checked; values only become parameters. `chosen` says that
 * an index selects the records by another condition, so that this condition only filters them. `passed` is the first term
 * of an order in which the records follow a given one: where a page begins in an index is decided by that one alone, not by
 * a range of the same field, from whose beginning SQLite would read all records before the page.
 */
export function translate<T>(shape: TableShape, where: Where<T>, chosen = false, passed?: SortTerm): Sql {
  const pieces: Sql[] = [];
  for (const [name, entry] of Object.entries(where) as [string, unknown][]) {
    if (entry === undefined) continue;
    if (name === 'and') pieces.push(...(entry as Where<T>[]).map((part) => translate(shape, part, chosen, passed)));
    else if (name === 'or') {
      const within = chosen || hasIndexedValue(shape, where);
      pieces.push(anyOf((entry as Where<T>[]).map((part) => translate(shape, part, within))));
    } else pieces.push(...translateField(shape, name, entry as Scalar | Condition, chosen, passed));
  }
  if (pieces.includes(NONE)) return NONE;
  const conditions = pieces.filter((piece) => piece !== ALL);
  return conditions.length === 0 ? ALL : join(conditions, ' AND ');
}

/** Returns whether a filter names the value of a field that has an index. */
function hasIndexedValue<T>(shape: TableShape, where: Where<T>): boolean {
  const entries = Object.entries(where) as [string, unknown][];
  return entries.some(([name, entry]) => shape.columns.has(name) && entry !== undefined && typeof entry !== 'object');
}

/** Returns the alternative of some conditions. With one that is a constant, SQLite would use no index for the others. */
function anyOf(all: readonly Sql[]): Sql {
  if (all.includes(ALL)) return ALL;
  const parts = all.filter((part) => part !== NONE);
  if (parts.length === 0) return NONE;
  const { sql, params } = join(
    parts.map((part) => ({ ...part, sql: `(${part.sql})` })),
    ' OR ',
  );
  return { sql: `(${sql})`, params };
}

function translateField(
  shape: TableShape,
  field: string,
  entry: Scalar | Condition,
  chosen: boolean,
  passed: SortTerm | undefined,
): Sql[] {
  const left = fieldOf(shape, field);
  const range = rangeOf(left, passed?.field === field ? passed : undefined);
  if (typeof entry !== 'object') return [compare(left, '=', entry)];
  const pieces = Object.entries(entry).map(([name, operand]): Sql => {
    if (operand === undefined) return ALL;
    switch (name as keyof Condition) {
      case 'in':
        return oneOf(left, operand as Scalar[]);
      case 'not':
        return compare(left, '<>', operand as Scalar);
      case 'exists':
        return { sql: `${left} IS ${operand ? 'NOT ' : ''}NULL`, params: [] };
      case 'contains':
        return containing(shape, field, [operand as Scalar], chosen);
      case 'containsAny':
        return containing(shape, field, operand as Scalar[], chosen);
      case 'prefix':
        return beginning(range, operand as string);
      case 'substring':
        return holding(left, operand as string);
      case 'gt':
        return above(range, '>', operand as Scalar, entry);
      case 'gte':
        return above(range, '>=', operand as Scalar, entry);
      case 'lt':
        return below(range, '<', operand as Scalar, entry);
      case 'lte':
        return below(range, '<=', operand as Scalar, entry);
      default:
        throw new TypeError(`${JSON.stringify(name)} is not a condition`);
    }
  });
  return pieces;
}

function compare(left: string, operator: string, value: Scalar): Sql {
  const { sql, params } = valueExpression(value);
  return { sql: `${left} ${operator} ${sql}`, params };
}

/** An expression as it is compared with the lower and the upper bound of a range. */
interface Range {
  readonly lower: string;
  readonly upper: string;
}

/** Returns the range of an expression. SQLite looks up no bound in an index whose expression begins with a plus sign. */
function rangeOf(left: string, passed: SortTerm | undefined): Range {
  const unused = `+${left}`;
  if (passed === undefined) return { lower: left, upper: left };
  return passed.descending ? { lower: left, upper: unused } : { lower: unused, upper: left };
}

/** Returns a lower bound that is limited to the value's type: SQLite orders numbers before text before blobs. */
function above({ lower, upper }: Range, operator: string, value: Scalar, { lt, lte }: Condition): Sql {
  const bound = compare(lower, operator, value);
  if (lt !== undefined || lte !== undefined || typeof value === 'boolean') return bound;
  return {
    sql: `${bound.sql} AND ${upper} < ${typeof value === 'string' ? MIN_BLOB : MIN_TEXT}`,
    params: bound.params,
  };
}

function below({ lower, upper }: Range, operator: string, value: Scalar, { gt, gte }: Condition): Sql {
  const bound = compare(upper, operator, value);
  if (gt !== undefined || gte !== undefined || typeof value === 'number') return bound;
  const least = typeof value === 'string' ? MIN_TEXT : MIN_BLOB;
  return { sql: `${bound.sql} AND ${lower} >= ${least}`, params: bound.params };
}

/** Returns a condition that an expression has one of some values. */
export function oneOf(left: string, values: readonly Scalar[]): Sql {
  const [first] = values;
  if (first === undefined) return NONE;
  if (values.length === 1) return compare(left, '=', first);
  return { sql: `${left} IN ${LIST}`, params: [listParam(values)] };
}

/**
 * Returns a prefix condition. A range is used in place of LIKE, because an index serves it and no character is special.
 */
function beginning({ lower, upper }: Range, prefix: string): Sql {
  const from = compare(lower, '>=', prefix);
  const end = afterPrefix(prefix);
  const to = end === undefined ? { sql: `${upper} < ${MIN_BLOB}`, params: [] } : compare(upper, '<', end);
  return join([from, to], ' AND ');
}

function holding(left: string, text: string): Sql {
  const { sql, params } = valueExpression(text);
  return { sql: `(typeof(${left}) = 'text' AND instr(${left}, ${sql}) > 0)`, params };
}

/**
 * Returns a condition on the elements of an array. If it may select the records, it is a list of their ids, which
 * SQLite computes as a whole. If another condition selects them, it looks up the elements of each record; otherwise a
 * page would cost as much as all records that contain the value.
 */
function containing(shape: TableShape, field: string, values: readonly Scalar[], chosen: boolean): Sql {
  if (values.length === 0) return NONE;
  const { sql, params } = oneOf('value', values);
  if (shape.many.has(field)) {
    const elements = elementTable(shape.table, field);
    return chosen
      ? { sql: `EXISTS (SELECT 1 FROM ${elements} e WHERE e.id = ${shape.table}.id AND ${sql})`, params }
      : { sql: `id IN (SELECT id FROM ${elements} WHERE ${sql})`, params };
  }
  return { sql: `EXISTS (SELECT 1 FROM (${elementsQuery(field)}) WHERE ${sql})`, params };
}
