import { isObject } from '@commonplace/kit/json';
import { refuseDeep } from '../common/deep.js';
import { wellFormed } from '../common/text.js';
import { buildTable, checkSize, type Table } from '../csv/table.js';
import type { Value } from '../csv/values.js';
import { ImportFault } from '../port.js';

/** The supported shapes of a JSON file. */
export type Shape =
  | { readonly kind: 'document'; readonly document: Record<string, unknown> }
  | { readonly kind: 'table'; readonly table: Record<string, unknown> }
  | {
      readonly kind: 'rows';
      readonly rows: readonly Record<string, unknown>[];
      /** Names of the values beside the list of rows. */
      readonly beside: readonly string[];
    };

export const SHAPES =
  'an array of objects, an object with such an array, lines of objects, document JSON ({"type":"doc","content":[…]}) or a table ({"columns":[…],"rows":[…]})';

const isRows = (value: unknown): value is Record<string, unknown>[] =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);

/** Returns the rows of an object whose only array holds objects and whose other values are scalars. */
function rowsWithin(value: Record<string, unknown>): Shape | undefined {
  const arrays = Object.values(value).filter(Array.isArray);
  const [only] = arrays;
  if (arrays.length !== 1 || !isRows(only) || Object.values(value).some(isObject)) return undefined;
  return { kind: 'rows', rows: only, beside: Object.keys(value).filter((key) => value[key] !== only) };
}

/** Returns the shape of a value, or undefined when it is not supported. */
export function shapeOfJson(value: unknown): Shape | undefined {
  if (isRows(value)) return { kind: 'rows', rows: value, beside: [] };
  if (!isObject(value)) return undefined;
  if (value.type === 'doc' && Array.isArray(value.content)) return { kind: 'document', document: value };
  if (Array.isArray(value.columns) && Array.isArray(value.rows)) return { kind: 'table', table: value };
  return rowsWithin(value);
}

/** Digits of the largest number, beyond which an integer is not compared. */
const MAX_NUMBER_LENGTH = 310;

/** Returns whether a number of JSON is finite and, if it is an integer, keeps all of its digits when it is parsed. */
function keepsDigits(number: string): boolean {
  if (/[.eE]/.test(number)) return Number.isFinite(Number(number));
  return number.length <= MAX_NUMBER_LENGTH && BigInt(number) === BigInt(Number(number));
}

const NUMBER = /[\d.eE+-]+/y;

/** Quotes the numbers in JSON that parsing would change, such as ids of 19 digits, so that they are read as texts. */
export function quoteLargeNumbers(text: string): string {
  if (!/\d{16}|[eE][+-]?\d{3}/.test(text)) return text;
  const pieces: string[] = [];
  let from = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (quoted) {
      if (sign === '\\') at += 1;
      else if (sign === '"') quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === '-' || (sign >= '0' && sign <= '9')) {
      NUMBER.lastIndex = at;
      const [number = sign] = NUMBER.exec(text) ?? [];
      if (/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(number) && !keepsDigits(number)) {
        pieces.push(text.slice(from, at), JSON.stringify(number));
        from = at + number.length;
      }
      at += number.length - 1;
    }
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(from);
}

/** Parses JSON, or one JSON object per line. */
export function readJson(text: string, path: string): unknown {
  refuseDeep(text, path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length > 1) {
      try {
        return lines.map((line) => JSON.parse(line) as unknown);
      } catch {
        // The error about the whole text is the one to report.
      }
    }
    throw new ImportFault('invalid_json', `${path} is not JSON: ${(cause as Error).message.slice(0, 200)}`, false, {
      cause,
    });
  }
}

/** Returns what an object has for a key itself: names such as `constructor` have values in every object. */
function ownValue(row: Record<string, unknown>, key: string): Value {
  const value = Object.hasOwn(row, key) ? row[key] : null;
  return typeof value === 'string' ? wellFormed(value) : (value as Value);
}

/** Builds a table from objects: a column for each key, in the order in which keys appear. */
export function tableOfRows(
  rows: readonly Record<string, unknown>[],
  path: string,
): { table: Table; warnings: string[] } {
  const keys = new Set<string>();
  for (const row of rows) for (const key of Object.keys(row)) keys.add(key);
  checkSize(rows.length, keys.size, path);
  const header = [...keys];
  const values = rows.map((row) => header.map((key) => ownValue(row, key)));
  return buildTable({ header, rows: values, detectTypes: true, hints: { texts: true } });
}
