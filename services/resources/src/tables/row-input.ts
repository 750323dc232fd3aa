import { isRowId } from './cells.js';
import type { Column } from './column.js';
import { isRecord } from './column-options.js';
import type { Faults } from './faults.js';
import type { Breathe } from './slices.js';

/** A row from a request. */
export interface RowInput {
  /** Index in the request. */
  readonly index: number;
  readonly id: string | undefined;
  /** Requested index of the row in the table. */
  readonly position: number | undefined;
  /** Values by column id; null for an empty cell. */
  readonly cells: ReadonlyMap<string, unknown>;
}

const KEYS = new Set(['id', 'cells', 'position', 'created_at', 'updated_at']);
const OWN = new Set(['id', 'position']);

/**
 * Parses rows in any of their forms: `{id, cells, position}`, an object keyed by columns, or a list of values in column
 * order. In the second form, `id` and `position` belong to the row itself, unless a column has that name.
 */
export async function readRows(
  given: readonly unknown[],
  columns: readonly Column[],
  faults: Faults,
  breathe: Breathe,
): Promise<RowInput[]> {
  const resolve = columnFinder(columns);
  const seen = new Set<string>();
  const rows: RowInput[] = [];
  for (const [index, row] of given.entries()) {
    const read = readRow(row, index, columns, resolve, faults);
    if (read.id !== undefined) {
      if (seen.has(read.id)) faults.add(`rows[${index}].id`, 'invalid_value', `The row id ${read.id} occurs twice.`);
      seen.add(read.id);
    }
    rows.push(read);
    if (index % ROWS_AT_ONCE === 0) await breathe();
  }
  return rows;
}

/** Rows that are parsed between two yields to the event loop. */
const ROWS_AT_ONCE = 16;

type Resolve = (key: string) => Column | 'several' | undefined;

function columnFinder(columns: readonly Column[]): Resolve {
  const known = new Map<string, Column | 'several'>();
  for (const column of columns) known.set(column.name, known.has(column.name) ? 'several' : column);
  for (const column of columns) known.set(column.id, column);
  return (key) => known.get(key);
}

function readRow(row: unknown, index: number, columns: readonly Column[], resolve: Resolve, faults: Faults): RowInput {
  const param = `rows[${index}]`;
  if (Array.isArray(row)) {
    if (row.length > columns.length) {
      faults.add(
        param,
        'unknown_column',
        `The row has ${row.length} values, but the table has ${columns.length} columns.`,
      );
    }
    const cells = new Map(columns.flatMap(({ id }, i) => (i < row.length ? [[id, row[i] as unknown]] : [])));
    return { index, id: undefined, position: undefined, cells };
  }
  if (!isRecord(row)) {
    faults.add(param, 'invalid_type', 'A row must be an object or a list of values.');
    return { index, id: undefined, position: undefined, cells: new Map() };
  }
  const full = isRecord(row.cells) && resolve('cells') === undefined;
  const own = (key: string): unknown => (full || resolve(key) === undefined ? row[key] : undefined);
  const entries = full
    ? Object.entries(row.cells as object)
    : Object.entries(row).filter(([key]) => !OWN.has(key) || resolve(key) !== undefined);
  if (full) {
    for (const key of Object.keys(row)) {
      if (!KEYS.has(key)) faults.add(`${param}.${key}`, 'unknown_field', 'A row may have only id, cells and position.');
    }
  }
  return {
    index,
    id: readId(own('id'), param, faults),
    position: readPosition(own('position'), param, faults),
    cells: readCells(entries, full ? `${param}.cells` : param, resolve, faults),
  };
}

function readCells(entries: readonly [string, unknown][], param: string, resolve: Resolve, faults: Faults) {
  const cells = new Map<string, unknown>();
  for (const [key, value] of entries) {
    const column = resolve(key);
    if (column === undefined) faults.add(`${param}.${key}`, 'unknown_column', `The table has no column ${key}.`);
    else if (column === 'several') {
      faults.add(`${param}.${key}`, 'unknown_column', `Several columns are called ${key}: use the id.`);
    } else if (cells.has(column.id)) {
      faults.add(`${param}.${key}`, 'conflicting_alias', `The cell of ${column.id} is given twice, by id and by name.`);
    } else cells.set(column.id, value);
  }
  return cells;
}

function readId(value: unknown, param: string, faults: Faults): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && isRowId(value)) return value;
  return faults.add(
    `${param}.id`,
    'invalid_value',
    'must have 1 to 64 characters, without control characters, " and \\.',
  );
}

function readPosition(value: unknown, param: string, faults: Faults): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (Number.isSafeInteger(value) && Number(value) >= 0) return value as number;
  return faults.add(`${param}.position`, 'invalid_value', 'must be a whole number, 0 or more.');
}
