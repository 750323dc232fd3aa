import { isRecord, wellFormed } from '../common/text.js';
import { buildTable, checkSize, type Table } from '../csv/table.js';
import type { Value } from '../csv/values.js';
import { ImportFault } from '../port.js';

/** The supported shapes of a JSON file. */
export type Shape =
  | { readonly kind: 'document'; readonly document: Record<string, unknown> }
  | { readonly kind: 'table'; readonly table: Record<string, unknown> }
  | { readonly kind: 'rows'; readonly rows: readonly Record<string, unknown>[] };

export const SHAPES =
  'an array of objects, an object with such an array, lines of objects, document JSON ({"type":"doc","content":[…]}) or a table ({"columns":[…],"rows":[…]})';

const isRows = (value: unknown): value is Record<string, unknown>[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRecord);

/** Returns the only array of objects in an object whose other values are scalars. */
function rowsWithin(value: Record<string, unknown>): Record<string, unknown>[] | undefined {
  const arrays = Object.values(value).filter(Array.isArray);
  const [only] = arrays;
  return arrays.length === 1 && isRows(only) && Object.values(value).every((other) => !isRecord(other))
    ? only
    : undefined;
}

/** Returns the shape of a value, or undefined when it is not supported. */
export function shapeOfJson(value: unknown): Shape | undefined {
  if (isRows(value)) return { kind: 'rows', rows: value };
  if (!isRecord(value)) return undefined;
  if (value.type === 'doc' && Array.isArray(value.content)) return { kind: 'document', document: value };
  if (Array.isArray(value.columns) && Array.isArray(value.rows)) return { kind: 'table', table: value };
  const rows = rowsWithin(value);
  return rows === undefined ? undefined : { kind: 'rows', rows };
}

/** Nesting depth beyond which JSON is refused, because the functions that read it recurse. */
const MAX_DEPTH = 2000;

function refuseDeep(text: string, path: string): void {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted) {
      if (sign === '\\') at += 1;
      else if (sign === '"') quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === '{' || sign === '[') depth += 1;
    else if (sign === '}' || sign === ']') depth -= 1;
    if (depth > MAX_DEPTH)
      throw new ImportFault('nested_too_deep', `${path} has values nested more than ${MAX_DEPTH} deep.`);
  }
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

function valueFrom(value: unknown): Value {
  if (typeof value === 'string') return wellFormed(value);
  return value === undefined ? null : (value as Value);
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
  const values = rows.map((row) => header.map((key) => valueFrom(row[key])));
  return buildTable({ header, rows: values, detectTypes: true, hints: { texts: true } });
}
