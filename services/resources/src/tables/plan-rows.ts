import { newId } from '@commonplace/kit/id';
import type { RowChange } from '../domain/row-change.js';
import { elementsOf, isEmpty } from './cells.js';
import { type Cell, type Column, isWritable } from './column.js';
import type { TableState } from './compute.js';
import type { Faults } from './faults.js';
import { idFinder } from './find-rows.js';
import { fieldOf, type LoadedColumn, numberOf } from './image.js';
import type { TableInput } from './input.js';
import { MAX_ROW_TEXT } from './limits.js';
import type { ColumnPlan } from './plan-columns.js';
import type { Edits } from './rebuild.js';
import { MAX_REPORTED_ROWS, RowChanges } from './row-changes.js';
import type { RowOrigin } from './row-facts.js';
import type { RowInput } from './row-input.js';
import type { Row } from './rows.js';
import { type Breathe, ROWS_AT_ONCE } from './slices.js';
import type { RowTaker } from './take-rows.js';

/** The effect of a write's rows on a table. */
export interface RowPlan {
  readonly edits: Edits;
  /** Number of existing rows that are deleted. */
  readonly gone: number;
  /** The rows that it addresses one by one and changes. */
  readonly changes: readonly RowChange[];
}

interface PlanParts {
  readonly state: TableState;
  readonly plan: ColumnPlan;
  readonly input: TableInput;
  readonly rows: readonly RowInput[];
  readonly taker: RowTaker;
  /** The writer, as an index in the table's list of people. */
  readonly by: number;
  /** Returns who wrote each row and when, as the rows themselves state; undefined if they do not. */
  readonly originOf: ((index: number) => RowOrigin) | undefined;
  readonly now: number;
  readonly faults: Faults;
  readonly breathe: Breathe;
  /** Whether all sent ids are new in the table, so that they need not be looked up. */
  readonly newIds: boolean;
}

/** A row as it is after the write, and its index in the request. */
interface WrittenRow {
  readonly row: Row;
  readonly index: number;
}

/** Plans a replacement: the table then has exactly the sent rows, in their order or at the positions that they name. */
export async function planReplace(parts: PlanParts): Promise<RowPlan> {
  const { state, rows, taker, faults, breathe } = parts;
  const byId = rows.some(({ id }) => id !== undefined);
  const placeOf = await idFinder(state, byId, breathe);
  const changes = new RowChanges(parts.plan.columns);
  const kept = new Set<number>();
  const made: (WrittenRow & { readonly position: number })[] = [];
  for (const [index, given] of rows.entries()) {
    const at = given.id === undefined ? undefined : placeOf(given.id);
    const old = at === undefined ? undefined : state.view.row(at);
    if (at !== undefined) kept.add(at);
    const row = rowOf(parts, given, old, taker.take(given, old, false));
    if (byId) changes.write(row, old);
    made.push({ row, position: given.position ?? index, index });
    if (faults.isFull()) break;
    if (index % ROWS_AT_ONCE === 0) await breathe();
  }
  made.sort((a, b) => a.position - b.position || a.index - b.index);
  checkUniqueAmong(parts, made);
  const total = state.head.rowCount;
  const inserted = new Map([[total, made.map(({ row }) => row)]]);
  const gone = total - kept.size;
  if (byId && gone <= MAX_REPORTED_ROWS) await noteOthers(state, kept, changes, breathe);
  return {
    edits: { removed: 'all', changed: new Map(), inserted },
    gone,
    // Without any id the whole table is replaced, and with so many deleted rows single changes are not reported.
    changes: byId && gone <= MAX_REPORTED_ROWS ? changes.all() : [],
  };
}

/** Notes the rows of the table that are not kept as deleted. */
async function noteOthers(
  { view }: TableState,
  kept: ReadonlySet<number>,
  changes: RowChanges,
  breathe: Breathe,
): Promise<void> {
  for (let at = 0; at < view.rowCount; at++) {
    if (!kept.has(at)) changes.delete(view.row(at).id);
    if (at % ROWS_AT_ONCE === 0) await breathe();
  }
}

/**
 * Plans an append or upsert: sent rows are added or, in an upsert, change the rows that they match. Other rows stay.
 */
export async function planChanges(parts: PlanParts, convert: boolean): Promise<RowPlan> {
  const { state, input, rows, taker, faults, breathe } = parts;
  const total = state.head.rowCount;
  const byId = (!parts.newIds && rows.some(({ id }) => id !== undefined)) || input.deleteRowIds.length > 0;
  const placeOf = await idFinder(state, byId, breathe);
  const removed = new Set(input.deleteRowIds.flatMap((id) => placeOf(id) ?? []));
  const keyOf = input.keyColumnId === undefined ? undefined : await keyFinder(parts, input.keyColumnId);
  const changed = new Map<number, Row>();
  const inserted = new Map<number, Row[]>();
  const touched: WrittenRow[] = [];
  const gone = removed.size;
  const changes = new RowChanges(parts.plan.columns);
  for (const at of removed) {
    changes.delete(state.view.row(at).id);
    await breathe();
  }

  for (const given of rows) {
    const at = matchRow(given, placeOf, keyOf, parts);
    const old = at === undefined ? undefined : state.view.row(at);
    if (at !== undefined && (removed.has(at) || changed.has(at))) {
      const what = removed.has(at) ? 'is to be deleted as well' : 'is matched by two rows of the request';
      faults.add(`rows[${given.index}]`, 'invalid_value', `The row ${old?.id} ${what}.`);
      continue;
    }
    const row = rowOf(parts, given, old, taker.take(given, old, true));
    changes.write(row, old);
    touched.push({ index: given.index, row });
    const place = Math.min(given.position ?? at ?? total, total);
    if (at !== undefined && place === at) changed.set(at, row);
    else {
      if (at !== undefined) {
        removed.add(at);
        changed.delete(at);
      }
      const before = at !== undefined && place > at ? Math.min(place + 1, total) : place;
      const there = inserted.get(before);
      if (there === undefined) inserted.set(before, [row]);
      else there.push(row);
    }
    if (faults.isFull()) break;
    if (given.index % ROWS_AT_ONCE === 0) await breathe();
  }
  await checkUniqueInTable(parts, touched, removed, changed);
  const edits = { removed, changed, inserted, convert: convert ? converter(parts) : undefined };
  return { edits, gone, changes: changes.all() };
}

function converter({ taker, now, by }: PlanParts): (row: Row) => Row {
  return (row) => {
    const cells = taker.convert(row);
    return sameCells(cells, row.cells) ? row : { ...row, cells, updatedAt: now, updatedBy: by };
  };
}

/** Returns a row with new cells; a row whose cells do not change is returned as it is. */
function rowOf({ by, originOf, now, faults }: PlanParts, given: RowInput, old: Row | undefined, cells: Cell[]): Row {
  if (textOf(cells) > MAX_ROW_TEXT) {
    faults.add(`rows[${given.index}]`, 'payload_too_large', `A row may have at most ${MAX_ROW_TEXT} characters.`);
  }
  if (originOf !== undefined) return { id: given.id ?? old?.id ?? newId(), ...originOf(given.index), cells };
  if (old !== undefined) return sameCells(cells, old.cells) ? old : { ...old, cells, updatedAt: now, updatedBy: by };
  return { id: given.id ?? newId(), createdAt: now, createdBy: by, updatedAt: now, updatedBy: by, cells };
}

/** Returns the approximate length of the cells in characters. */
function textOf(cells: readonly Cell[]): number {
  let chars = 0;
  for (const cell of cells) {
    if (typeof cell === 'string') chars += cell.length;
    else if (typeof cell === 'object' && cell !== null) chars += JSON.stringify(cell).length;
  }
  return chars;
}

function sameCells(a: readonly Cell[], b: readonly Cell[]): boolean {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a[i] ?? null;
    const y = b[i] ?? null;
    if (x !== y && (typeof x !== 'object' || typeof y !== 'object' || JSON.stringify(x) !== JSON.stringify(y)))
      return false;
  }
  return true;
}

function matchRow(
  given: RowInput,
  placeOf: (id: string) => number | undefined,
  keyOf: ((given: RowInput) => number | undefined) | undefined,
  { input, faults }: PlanParts,
): number | undefined {
  const byId = given.id === undefined ? undefined : placeOf(given.id);
  if (input.mode === 'append') {
    if (byId !== undefined) {
      faults.add(
        `rows[${given.index}].id`,
        'invalid_value',
        `The row ${given.id} exists already; use mode upsert to change it.`,
      );
    }
    return undefined;
  }
  if (byId !== undefined) return byId;
  if (keyOf !== undefined) return keyOf(given);
  if (given.id === undefined) {
    faults.add(
      `rows[${given.index}].id`,
      'missing_field',
      'is required: an upsert without key_column_id matches rows by id.',
    );
  }
  return undefined;
}

const KEY_TYPES = new Set([
  'text',
  'long_text',
  'number',
  'currency',
  'date',
  'datetime',
  'select',
  'url',
  'email',
  'phone',
]);

/** Returns a function that finds the row with the same value in the key column as a row of the request. */
async function keyFinder(parts: PlanParts, keyColumnId: string) {
  const { state, plan, taker, rows, faults, breathe } = parts;
  const at = plan.columns.findIndex(({ id }) => id === keyColumnId);
  const column = plan.columns[at];
  if (column === undefined || !KEY_TYPES.has(column.type) || plan.conversions.has(column.id)) {
    const message =
      column === undefined
        ? `The table has no column ${keyColumnId}.`
        : `A column of type ${column.type}, or one whose type changes, cannot be the key.`;
    faults.add('key_column_id', column === undefined ? 'unknown_column' : 'invalid_value', message);
    faults.check();
    return () => undefined;
  }
  const keys = new Map<number, Cell>();
  for (const given of rows) {
    const key = taker.key(given, at);
    if (!isEmpty(key)) keys.set(given.index, key);
  }
  const places = await placesOf(state, column, new Set(keys.values()), breathe);
  const added = new Set<Cell>();
  return (given: RowInput): number | undefined => {
    const key = keys.get(given.index);
    if (key === undefined) {
      return faults.add(`rows[${given.index}]`, 'missing_field', `The row has no value for the key ${column.id}.`);
    }
    const [place, ...more] = places.get(key) ?? [];
    if (more.length > 0) faults.cell(given.index, column.id, 'Several rows of the table have this key.');
    if (place === undefined && added.has(key)) {
      faults.add(`rows[${given.index}]`, 'invalid_value', 'Another row of the request adds a row with this key.');
    }
    added.add(key);
    return place;
  };
}

/** Returns the indices of the rows that hold each of the wanted values, two per value at most. */
async function placesOf({ view }: TableState, column: Column, wanted: ReadonlySet<Cell>, breathe: Breathe) {
  const found = new Map<Cell, number[]>();
  if (view.rowCount === 0) return found;
  const [loaded] = await view.load([fieldOf(column)], breathe);
  if (loaded === undefined) return found;
  const values = new Map([...wanted].map((cell) => [valueIn(loaded, cell), cell]));
  let at = 0;
  for (const vector of loaded.vectors) {
    for (const value of vector) {
      const cell = values.get(value);
      if (cell !== undefined) {
        const there = found.get(cell);
        if (there === undefined) found.set(cell, [at]);
        // Two matches are enough to refuse the key.
        else if (there.length < 2) there.push(at);
      }
      at++;
    }
  }
  return found;
}

/** Returns the representation of a value in a column's vectors; undefined if no row has it. */
function valueIn({ field, terms }: LoadedColumn, cell: Cell): number | undefined {
  return field.kind === 'term' ? terms.find(cell) : numberOf(cell, field.kind);
}

const uniqueColumns = ({ columns }: ColumnPlan): Column[] =>
  columns.filter((column) => column.unique && isWritable(column));

const uniqueKey = (cell: Cell): string => JSON.stringify(cell);

function checkUniqueAmong({ plan, faults }: PlanParts, rows: readonly WrittenRow[]): void {
  for (const column of uniqueColumns(plan)) {
    const seen = new Set<string>();
    for (const { index, row } of rows) {
      const cell = row.cells[column.slot] ?? null;
      if (cell === null || cell === '') continue;
      const key = uniqueKey(cell);
      if (seen.has(key))
        faults.cell(index, column.id, `${column.name}: the value ${elementsOf(cell).join(', ')} is there twice.`);
      seen.add(key);
    }
  }
}

/**
 * Checks written values against the rows that stay, and these against each other if the column was not unique before.
 */
async function checkUniqueInTable(
  parts: PlanParts,
  touched: readonly WrittenRow[],
  removed: ReadonlySet<number>,
  changed: ReadonlyMap<number, Row>,
): Promise<void> {
  const { state, plan, faults, breathe } = parts;
  checkUniqueAmong(parts, touched);
  for (const column of uniqueColumns(plan)) {
    const before = state.head.columns.find(({ id }) => id === column.id);
    if (before === undefined || state.head.rowCount === 0) continue;
    if (plan.conversions.has(column.id)) {
      faults.add(
        'columns',
        'invalid_value',
        `${column.name} cannot change its type and be unique in a write that keeps rows.`,
      );
      continue;
    }
    const [loaded] = await state.view.load([fieldOf(column)], breathe);
    if (loaded === undefined) continue;
    const written = new Map<number | undefined, number>();
    for (const { index, row } of touched) {
      const cell = row.cells[column.slot] ?? null;
      if (cell === null || cell === '') continue;
      const value = valueIn(loaded, cell);
      // Rows that repeat the value are refused already.
      if (!written.has(value)) written.set(value, index);
    }
    // In a column that was unique already, values that no row ever had cannot collide.
    if (before.unique && [...written.keys()].every((value) => value === undefined)) continue;
    const others = new Set<number>();
    const blank = loaded.terms.find('');
    let at = 0;
    for (const vector of loaded.vectors) {
      for (const value of vector) {
        const stays = !removed.has(at) && !changed.has(at);
        at++;
        const empty = loaded.field.kind === 'term' ? value === 0 || value === blank : Number.isNaN(value);
        if (!stays || empty) continue;
        const index = written.get(value);
        if (index !== undefined) faults.cell(index, column.id, `${column.name}: another row has this value already.`);
        if (!before.unique && others.has(value)) {
          faults.add('columns', 'invalid_value', `${column.name} cannot be unique: several rows have the same value.`);
          return;
        }
        if (!before.unique) others.add(value);
      }
      await breathe();
    }
  }
}
