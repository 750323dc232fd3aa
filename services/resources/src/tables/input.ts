import { invalidField } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import { type Breathe, parseJsonInSlices } from '@commonplace/kit/slices';
import { ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentInput } from '../content/kind.js';
import type { Faults } from './faults.js';
import { MAX_CELLS_PER_WRITE, MAX_ROWS_PER_WRITE } from './limits.js';
import { ROWS_AT_ONCE } from './slices.js';

/** The parsed input of a write to a table, from either place in the request. */
export interface TableInput {
  readonly mode: 'replace' | 'append' | 'upsert';
  readonly columns: readonly unknown[] | undefined;
  readonly rows: readonly unknown[] | undefined;
  readonly typecast: boolean;
  readonly keyColumnId: string | undefined;
  readonly deleteRowIds: readonly string[];
}

const MODES: Partial<Record<ContentMode, TableInput['mode']>> = {
  [ContentMode.UNSPECIFIED]: 'replace',
  [ContentMode.REPLACE]: 'replace',
  [ContentMode.APPEND]: 'append',
  [ContentMode.UPSERT]: 'upsert',
};
const NESTED = ['columns', 'rows', 'typecast', 'key_column_id', 'delete_row_ids'];

/**
 * Parses a table from a request's own fields, or from its `content`. With `bounded`, the limits on rows and cells of a
 * request apply.
 */
export async function readTableInput(
  input: ContentInput,
  faults: Faults,
  breathe: Breathe,
  bounded = true,
): Promise<TableInput> {
  const mode = MODES[input.mode];
  if (mode === undefined) {
    throw invalidField('mode', 'invalid_value', 'The mode of a table must be replace, append or upsert.');
  }
  const nested = await readNested(input.content, faults, breathe);
  const both = (name: string, own: boolean): void => {
    if (own && nested[name] !== undefined) {
      faults.add(
        `content.${name}`,
        'conflicting_alias',
        `${name} and content.${name} mean the same: send one of them.`,
      );
    }
  };
  both('columns', input.columns.length > 0);
  both('rows', input.rows.length > 0);
  const columns = await readList(input.columns, nested.columns, 'columns', faults, breathe);
  const rows = await readList(input.rows, nested.rows, 'rows', faults, breathe);
  const typecast = nested.typecast ?? input.typecast;
  if (typeof typecast !== 'boolean') faults.add('content.typecast', 'invalid_type', 'must be true or false.');
  const key = nested.key_column_id ?? input.keyColumnId;
  if (key !== undefined && typeof key !== 'string')
    faults.add('content.key_column_id', 'invalid_type', 'must be a string.');
  const gone = nested.delete_row_ids ?? input.deleteRowIds;
  if (!Array.isArray(gone) || gone.length > MAX_ROWS_PER_WRITE || !gone.every((id) => typeof id === 'string')) {
    faults.add('content.delete_row_ids', 'invalid_type', `must be a list of at most ${MAX_ROWS_PER_WRITE} ids.`);
  }
  faults.check();
  return checked(
    {
      mode,
      columns,
      rows,
      typecast: typecast === true,
      keyColumnId: key as string | undefined,
      deleteRowIds: gone as string[],
    },
    faults,
    breathe,
    bounded,
  );
}

async function checked(input: TableInput, faults: Faults, breathe: Breathe, bounded: boolean): Promise<TableInput> {
  const { mode, keyColumnId, deleteRowIds, rows } = input;
  if (keyColumnId !== undefined && mode !== 'upsert') {
    faults.add('key_column_id', 'invalid_value', 'key_column_id is for mode upsert only.');
  }
  if (deleteRowIds.length > 0 && mode === 'replace') {
    faults.add(
      'delete_row_ids',
      'invalid_value',
      'delete_row_ids is for modes append and upsert only: replace deletes the rows that are not sent.',
    );
  }
  if (!bounded) return input;
  if (rows !== undefined && rows.length > MAX_ROWS_PER_WRITE) {
    faults.add('rows', 'too_many_items', `A write may have at most ${MAX_ROWS_PER_WRITE} rows.`);
  }
  if (rows !== undefined && (await countCells(rows, breathe)) > MAX_CELLS_PER_WRITE) {
    faults.add('rows', 'too_many_items', `A write may have at most ${MAX_CELLS_PER_WRITE} cells.`);
  }
  return input;
}

async function countCells(rows: readonly unknown[], breathe: Breathe): Promise<number> {
  let count = 0;
  for (const [index, row] of rows.entries()) {
    const cells = isObject(row) && isObject(row.cells) ? row.cells : row;
    if (typeof cells === 'object' && cells !== null) count += Object.keys(cells).length;
    if (index % ROWS_AT_ONCE === 0) await breathe();
  }
  return count;
}

async function readNested(content: Buffer, faults: Faults, breathe: Breathe): Promise<Record<string, unknown>> {
  if (content.length === 0) return {};
  const value = await parseJsonInSlices(content, breathe);
  if (!isObject(value)) {
    faults.add('content', 'invalid_type', 'The content of a table must be an object with columns and rows.');
    return {};
  }
  for (const key of Object.keys(value)) {
    if (!NESTED.includes(key)) faults.add(`content.${key}`, 'unknown_field', `A table has ${NESTED.join(', ')}.`);
  }
  return value;
}

async function readList(
  own: Buffer,
  nested: unknown,
  name: string,
  faults: Faults,
  breathe: Breathe,
): Promise<unknown[] | undefined> {
  const value = own.length > 0 ? await parseJsonInSlices(own, breathe) : nested;
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value;
  return faults.add(own.length > 0 ? name : `content.${name}`, 'invalid_type', 'must be a list.');
}
