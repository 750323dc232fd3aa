import type { Actor } from '@commonplace/kit/auth';
import { displayText, plainText } from './cells.js';
import { type Cell, type Column, type ColumnOptions, isTime } from './column.js';
import type { OpenTable } from './compute.js';
import type { TableHead } from './records.js';

/** Returns a stored value in the API's form, with people by id and times as text. */
export function shownCell(cell: Cell, { type }: Column, people: readonly Actor[]): Cell {
  if (cell === null) return null;
  if (type === 'created_by' || type === 'updated_by') return people[Number(cell)]?.id ?? null;
  return isTime(type) && typeof cell === 'number' ? new Date(cell).toISOString() : cell;
}

/** Returns a function that finds the name of a person in a table's list by id. */
export function nameIn(people: readonly Actor[]): (id: string) => string | undefined {
  const names = new Map(people.map(({ id, name }) => [id, name]));
  return (id) => names.get(id);
}

/** Returns a value from the API's form as people read it; null for none. */
type DisplayCell = (cell: Cell) => Cell;

type Head = Pick<TableHead, 'columns' | 'people'>;

/** Returns the function that shows the values of a column as people read them. */
export async function createDisplay(head: Head, column: Column, open: OpenTable): Promise<DisplayCell> {
  const nameOf = nameIn(head.people);
  const display: DisplayCell = (cell) => (cell === null ? null : displayText(cell, column, nameOf));
  if (column.type !== 'lookup' && column.type !== 'rollup') return display;
  const source = await sourceOf(head, column, open);
  if (source === undefined) return display;
  // A rollup that counts or joins has no value of the column that it reads.
  if (column.type === 'rollup' && !AGGREGATES.has(column.options.function)) return display;
  return (cell) => (cell === null ? null : [cell].flat().map(source).join(', '));
}

const AGGREGATES: ReadonlySet<ColumnOptions['function']> = new Set(['sum', 'avg', 'min', 'max']);

/** Returns the function that shows a value of the column that a lookup or rollup reads, by that column's options. */
async function sourceOf(
  { columns }: Head,
  { options }: Column,
  open: OpenTable,
): Promise<((cell: Cell) => string) | undefined> {
  const link = columns.find(({ id }) => id === options.link_column_id);
  const target = link?.options.target_table_id;
  const state = target === undefined ? undefined : await open(target);
  const found = state?.head.columns.find(({ id }) => id === options.target_column_id);
  if (state === undefined || found === undefined) return undefined;
  // Choices are looked up by name.
  if (found.type === 'select' || found.type === 'multi_select') return (cell) => plainText(cell) ?? '';
  const precision = options.precision ?? found.options.precision;
  const column = { ...found, options: { ...found.options, ...(precision !== undefined && { precision }) } };
  const nameOf = nameIn(state.head.people);
  return (cell) => displayText(cell, column, nameOf);
}
