import { displayText, elementsOf, plainText } from './cells.js';
import { type Cell, type Column, createFindColumn, isComputed } from './column.js';
import { cellError, type Formula, isCellError, parseFormula } from './formula.js';
import { workOut } from './formula-functions.js';
import { fieldOf, ID_FIELD, slotOf, type TableView, valueAt } from './image.js';
import type { TableHead } from './records.js';
import type { Row } from './rows.js';
import { shownCell } from './shown.js';
import type { Breathe } from './slices.js';

/** A version of a table that can be read. */
export interface TableState {
  readonly head: Omit<TableHead, 'version'>;
  readonly view: TableView;
}

/** Opens the current version of another table; undefined if the caller may not read it or it is not a table. */
export type OpenTable = (tableId: string) => Promise<TableState | undefined>;

/** Returns a cell of a row in the API's form. */
export type CellOf = (row: Row, column: Column) => Cell;

const NOT_AVAILABLE = 'The linked table is not available.';

/** Returns the linked rows that a lookup or rollup reads, with the column to read, or the message of why it cannot. */
type Follow = (row: Row) => { readonly rows: readonly Row[]; readonly cell: CellOf; readonly column: Column } | string;

/**
 * Creates a function that returns the cells of these columns. Opens linked tables first; formulas are computed for one
 * row at a time. Errors in a cell never throw: the cell contains the error instead.
 */
export async function createCellOf(
  { head }: TableState,
  columns: readonly Column[],
  open: OpenTable,
  breathe: Breathe,
): Promise<CellOf> {
  const findColumn = createFindColumn(head.columns);
  const formulas = new Map<string, Formula | string>();
  const follows = new Map<string, Follow>();
  const mirrors = new Map<string, (rowId: string) => Cell>();
  const linked = cached((id: string) => openLinked(id, open, breathe));

  async function prepare(column: Column): Promise<void> {
    if (formulas.has(column.id) || follows.has(column.id) || mirrors.has(column.id)) return;
    if (column.type === 'formula') {
      const formula = readFormula(column);
      formulas.set(column.id, formula);
      // A formula of 2,000 characters takes half a millisecond, and a table may have 500.
      await breathe();
      if (typeof formula === 'string') return;
      for (const reference of formula.references) {
        const other = findColumn(reference);
        if (other !== undefined) await prepare(other);
      }
    } else if (column.type === 'link' && isComputed(column)) {
      mirrors.set(column.id, await mirrorOf(column, head.id, linked, breathe));
    } else if (column.type === 'lookup' || column.type === 'rollup' || column.type === 'count') {
      const link = linkOf(column, head.columns);
      if (typeof link !== 'string' && isComputed(link)) await prepare(link);
      if (column.type !== 'count') follows.set(column.id, await followOf(column, link, linked, cellOf, breathe));
    }
  }

  // Computed cells of the last row, so that each cell is computed once, however many formulas read it.
  let worked: { readonly row: Row; readonly cells: Map<string, Cell> } | undefined;

  function cellOf(row: Row, column: Column): Cell {
    if (!isComputed(column)) return shownCell(valueAt(row, slotOf(column)), column, head.people);
    if (worked?.row !== row) worked = { row, cells: new Map() };
    const { cells } = worked;
    const known = cells.get(column.id);
    if (known !== undefined) return known;
    // This value is found by a formula that refers to itself while it is being computed.
    cells.set(column.id, cellError('The formula refers to itself.'));
    const cell = workOut(() => computedCell(row, column));
    cells.set(column.id, cell);
    return cell;
  }

  function computedCell(row: Row, column: Column): Cell {
    if (column.type === 'formula') return formulaCell(row, column);
    if (column.type === 'link') return mirrors.get(column.id)?.(row.id) ?? null;
    if (column.type === 'count') {
      const link = linkOf(column, head.columns);
      if (typeof link === 'string') return cellError(link);
      const cell = cellOf(row, link);
      return isCellError(cell) ? cell : elementsOf(cell).length;
    }
    const found = follows.get(column.id)?.(row) ?? NOT_AVAILABLE;
    if (typeof found === 'string') return cellError(found);
    const cells = found.rows.map((each) => named(found.cell(each, found.column), found.column));
    return column.type === 'lookup' ? lookupValues(cells) : rollupValue(cells, column);
  }

  function formulaCell(row: Row, column: Column): Cell {
    const formula = formulas.get(column.id) ?? 'The formula cannot be parsed.';
    if (typeof formula === 'string') return cellError(formula);
    return formula.evaluate((reference) => {
      const other = findColumn(reference);
      return other === undefined
        ? cellError(`The column ${reference} does not exist or is not unique.`)
        : named(cellOf(row, other), other);
    });
  }

  for (const column of columns) await prepare(column);
  return cellOf;
}

/** Replaces the ids of choices by their names: formulas use names, and another table does not have the ids. */
function named(cell: Cell, column: Column): Cell {
  if (column.type === 'select' && cell !== null) return displayText(cell, column, () => undefined);
  if (column.type === 'multi_select') return elementsOf(cell).map((id) => displayText(id, column, () => undefined));
  return cell;
}

function readFormula({ options }: Column): Formula | string {
  try {
    return parseFormula(options.expression ?? '');
  } catch (error) {
    return (error as Error).message.slice(0, 200);
  }
}

function linkOf({ options }: Column, columns: readonly Column[]): Column | string {
  const link = columns.find(({ id }) => id === options.link_column_id);
  return link?.type === 'link' ? link : `There is no link column ${options.link_column_id}.`;
}

interface LinkedTable {
  readonly state: TableState;
  rowOf(id: string): Row | undefined;
}

type OpenLinked = (tableId: string) => Promise<LinkedTable | undefined>;

async function openLinked(tableId: string, open: OpenTable, breathe: Breathe): Promise<LinkedTable | undefined> {
  const state = await open(tableId);
  if (state === undefined) return undefined;
  const [ids] = await state.view.load([ID_FIELD], breathe);
  if (ids === undefined) return undefined;
  const places = new Uint32Array(ids.terms.cells.length);
  let at = 0;
  for (const vector of ids.vectors) {
    for (const code of vector) places[code] = ++at;
    await breathe();
  }
  const rowOf = (id: string): Row | undefined => {
    const place = places[ids.terms.find(id) ?? 0];
    return place === undefined || place === 0 ? undefined : state.view.row(place - 1);
  };
  return { state, rowOf };
}

/** Returns a function from a row's id to the target's rows that link to it in the mirrored column. */
async function mirrorOf(column: Column, tableId: string, linked: OpenLinked, breathe: Breathe) {
  const { target_table_id: target = '', inverse_column_id: mirrored } = column.options;
  const { state } = (await linked(target)) ?? {};
  if (state === undefined) return () => cellError(NOT_AVAILABLE);
  const source = state.head.columns.find(({ id }) => id === mirrored);
  if (source?.type !== 'link' || isComputed(source) || source.options.target_table_id !== tableId) {
    return () => cellError(`The linked table has no link column ${mirrored} to this table.`);
  }
  const [ids, links] = await state.view.load([ID_FIELD, fieldOf(source)], breathe);
  const naming = new Map<string, string[]>();
  for (const [i, vector] of links?.vectors.entries() ?? []) {
    for (let at = 0; at < vector.length; at++) {
      if (vector[at] === 0) continue;
      const from = ids?.terms.cells[ids.vectors[i]?.[at] ?? 0] as string;
      for (const to of elementsOf(links?.terms.cells[vector[at] as number] ?? null)) {
        const list = naming.get(to);
        if (list === undefined) naming.set(to, [from]);
        else list.push(from);
      }
    }
  }
  return (rowId: string): Cell => naming.get(rowId) ?? null;
}

/** Prepares a lookup or rollup. It may read a stored column of the linked rows, or a formula over stored columns. */
async function followOf(
  column: Column,
  link: Column | string,
  linked: OpenLinked,
  cellOf: CellOf,
  breathe: Breathe,
): Promise<Follow> {
  if (typeof link === 'string') return () => link;
  const target = await linked(link.options.target_table_id ?? '');
  if (target === undefined) return () => NOT_AVAILABLE;
  const found = target.state.head.columns.find(({ id }) => id === column.options.target_column_id);
  const follows = found !== undefined && isComputed(found) && found.type !== 'formula';
  if (found === undefined || follows)
    return () => `The linked table has no column ${column.options.target_column_id} to read.`;
  const cell = await createCellOf(target.state, [found], async () => undefined, breathe);
  return (row) => {
    const ids = cellOf(row, link);
    if (isCellError(ids)) return ids.error;
    return { rows: elementsOf(ids).flatMap((id) => target.rowOf(id) ?? []), cell, column: found };
  };
}

function lookupValues(cells: readonly Cell[]): Cell {
  const values = cells.flatMap((cell) => (Array.isArray(cell) ? (cell as Cell[]) : cell === null ? [] : [cell]));
  return values.length === 0 ? null : values;
}

function rollupValue(cells: readonly Cell[], { options }: Column): Cell {
  const values = (lookupValues(cells) ?? []) as readonly Cell[];
  const failed = values.find(isCellError);
  if (failed !== undefined) return failed;
  if (options.function === 'count') return values.length;
  if (options.function === 'count_unique') return new Set(values.map((value) => JSON.stringify(value))).size;
  if (options.function === 'concat') return values.length === 0 ? null : values.map(plainText).join(', ');
  return aggregate(values, options.function);
}

function aggregate(values: readonly Cell[], by: string | undefined): Cell {
  if (values.length === 0) return by === 'sum' ? 0 : null;
  // Dates and times are ordered like their texts.
  if (values.every((value) => typeof value === 'string') && (by === 'min' || by === 'max')) {
    return [...values].sort().at(by === 'min' ? 0 : -1) ?? null;
  }
  const numbers = values.map((value) => (typeof value === 'boolean' ? Number(value) : value));
  if (!numbers.every((value): value is number => typeof value === 'number')) return cellError('not a number');
  if (by === 'min') return numbers.reduce((least, value) => Math.min(least, value));
  if (by === 'max') return numbers.reduce((most, value) => Math.max(most, value));
  const sum = numbers.reduce((total, value) => total + value, 0);
  const made = by === 'avg' ? sum / numbers.length : sum;
  return Number.isFinite(made) ? made : cellError('not a number');
}

function cached<K, V>(make: (key: K) => Promise<V>): (key: K) => Promise<V> {
  const made = new Map<K, Promise<V>>();
  return (key) => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}
