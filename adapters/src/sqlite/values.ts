import type { Scalar } from '@commonplace/kit/store';
import type { Param } from './file/binding.js';

/**
 * SQL forms of JSON values. Text and numbers are stored as they are; booleans, arrays and objects are blobs of one
 * byte, so that none of them equals a number or a text, and false sorts before true.
 */
const FALSE = `x'00'`;
const TRUE = `x'01'`;

/** The smallest text; every number sorts before it. */
export const MIN_TEXT = `''`;
/** The smallest blob; every text sorts before it. */
export const MIN_BLOB = `x''`;

/** Returns an expression for a top-level field of a document; NULL if the field is absent or null. */
export function fieldExpression(field: string, doc = 'doc'): string {
  const path = `'$.${checkName(field)}'`;
  return (
    `CASE json_type(${doc}, ${path}) WHEN 'true' THEN ${TRUE} WHEN 'false' THEN ${FALSE} ` +
    `WHEN 'array' THEN x'02' WHEN 'object' THEN x'03' ELSE ${doc} ->> ${path} END`
  );
}

/** Returns a query for the distinct scalars of an array field, as `value`, next to other `columns`. */
export function elementsQuery(field: string, doc = 'doc', from = '', columns = ''): string {
  const path = `'$.${checkName(field)}'`;
  return (
    `SELECT DISTINCT ${ELEMENT} AS value${columns} FROM ${from} json_each(${doc}, ${path}) ` +
    `WHERE atom IS NOT NULL AND json_type(${doc}, ${path}) = 'array'`
  );
}

const ELEMENT = `CASE type WHEN 'true' THEN ${TRUE} WHEN 'false' THEN ${FALSE} ELSE atom END`;

/** A subquery that returns a list of values, passed as one parameter that holds a JSON array. */
export const LIST = `(SELECT ${ELEMENT} FROM json_each(?))`;

/** A table with the column `value`, which holds the values of such a parameter. */
export const LIST_TABLE = `(SELECT ${ELEMENT} AS value FROM json_each(?))`;

export function listParam(values: readonly Scalar[]): Param {
  return JSON.stringify(values);
}

/** Returns a value as SQL with its parameters. */
export function valueExpression(value: Scalar): { sql: string; params: Param[] } {
  if (typeof value === 'boolean') return { sql: value ? TRUE : FALSE, params: [] };
  // Texts with NUL, which cannot be bound, and fractions are passed as JSON, so that both sides of a comparison are
  // parsed by the same routine and agree to the last bit.
  const plain = typeof value === 'string' ? !value.includes('\0') : Number.isSafeInteger(value);
  return plain ? { sql: '?', params: [value] } : { sql: `(? ->> '$')`, params: [JSON.stringify(value)] };
}

/** Returns an expression for a value of `fieldExpression` as text: `true` and `false` for booleans. */
export function cellText(cell: string): string {
  return `CASE ${cell} WHEN ${FALSE} THEN 'false' WHEN ${TRUE} THEN 'true' ELSE ${cell} END`;
}

/** Returns an expression for the JSON text of a fractional number, which keeps each of its bits. */
export function exactNumber(number: string): string {
  return `printf('%!.17g', ${number})`;
}

const FIELD = /^[A-Za-z][A-Za-z0-9]*$/;
/** Table names cannot contain two consecutive underscores, which separate services, collections and fields. */
const TABLE = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/** Returns a field's name for use within SQL. Throws TypeError unless it consists of letters and digits. */
export function checkName(field: string): string {
  if (!FIELD.test(field)) throw new TypeError(`${JSON.stringify(field)} is not a field's name`);
  return field;
}

/** Returns the name of a service or collection for use within SQL. Throws TypeError unless it is in snake_case. */
export function checkTable(name: string): string {
  if (!TABLE.test(name)) throw new TypeError(`${JSON.stringify(name)} is not a name in snake_case`);
  return name;
}
