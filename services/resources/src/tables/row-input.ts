import { isObject } from '@commonplace/kit/json';
import { isRowId } from './cells.js';
import { type Column, createResolveColumn, type ResolveColumn } from './column.js';
import type { Faults } from './faults.js';
import { type Breathe, ROWS_AT_ONCE } from './slices.js';

/** A row from a request. */
export interface RowInput {
  /** Index in the request. */
  readonly index: number;
  readonly id: string | undefined;
  /** Requested index of the row in the table. */
  readonly position: number | undefined;
  /** Values by index of the column; null for an empty cell, and undefined for one that the request does not have. */
  readonly cells: readonly unknown[];
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
  const resolve = createResolveColumn(columns);
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

/** Returns rows whose cells are given by column id, as rows from a request. */
export function rowsById(
  given: readonly { readonly id: string; readonly cells: Readonly<Record<string, unknown>> }[],
  columns: readonly Column[],
): RowInput[] {
  return given.map(({ id, cells }, index) => {
    // A column may have the id `constructor`, which every object inherits.
    const cellOf = (column: Column): unknown => (Object.hasOwn(cells, column.id) ? cells[column.id] : undefined);
    return { index, id, position: undefined, cells: columns.map(cellOf) };
  });
}

function readRow(
  row: unknown,
  index: number,
  columns: readonly Column[],
  resolve: ResolveColumn,
  faults: Faults,
): RowInput {
  const param = `rows[${index}]`;
  if (Array.isArray(row)) {
    if (row.length > columns.length) {
      faults.add(
        param,
        'unknown_column',
        `The row has ${row.length} values, but the table has ${columns.length} columns.`,
      );
    }
    return { index, id: undefined, position: undefined, cells: row.slice(0, columns.length) };
  }
  if (!isObject(row)) {
    faults.add(param, 'invalid_type', 'A row must be an object or a list of values.');
    return { index, id: undefined, position: undefined, cells: [] };
  }
  const full = isFull(row, resolve);
  const own = (key: string): unknown => (full || resolve(key) === undefined ? row[key] : undefined);
  if (full) {
    for (const key of Object.keys(row)) {
      if (!KEYS.has(key)) faults.add(`${param}.${key}`, 'unknown_field', 'A row may have only id, cells and position.');
    }
  }
  return {
    index,
    id: readId(own('id'), param, faults),
    position: readPosition(own('position'), param, faults),
    cells: full
      ? readCells(row.cells as Record<string, unknown>, `${param}.cells`, columns, resolve, faults)
      : readCells(row, param, columns, resolve, faults, OWN),
  };
}

/**
 * Returns whether a row is in the form `{id, cells, position}`, in which rows are returned. If a column is called `cells`
 * too, it is when `cells` has only values of columns.
 */
function isFull(row: Readonly<Record<string, unknown>>, resolve: ResolveColumn): boolean {
  const { cells } = row;
  if (!isObject(cells)) return false;
  if (resolve('cells') === undefined) return true;
  const keys = Object.keys(cells);
  const named = keys.length > 0 && keys.every((key) => resolve(key) !== undefined);
  return named && Object.keys(row).every((key) => KEYS.has(key));
}

/** Reads the cells of a row, without keys in `others` that are no column. */
function readCells(
  values: Readonly<Record<string, unknown>>,
  param: string,
  columns: readonly Column[],
  resolve: ResolveColumn,
  faults: Faults,
  others?: ReadonlySet<string>,
): unknown[] {
  const cells = new Array<unknown>(columns.length);
  for (const key of Object.keys(values)) {
    const at = resolve(key);
    if (at === undefined && others?.has(key) === true) continue;
    if (at === undefined) faults.add(`${param}.${key}`, 'unknown_column', `The table has no column ${key}.`);
    else if (at === 'several') {
      faults.add(`${param}.${key}`, 'unknown_column', `Several columns are called ${key}: use the id.`);
    } else if (cells[at] !== undefined) {
      const message = `The cell of ${columns[at]?.id} is given twice, by id and by name.`;
      faults.add(`${param}.${key}`, 'conflicting_alias', message);
    } else cells[at] = values[key];
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
