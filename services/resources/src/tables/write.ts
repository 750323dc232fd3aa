import type { Actor } from '@commonplace/kit/auth';
import type { ContentInput, RowFacts, Warning } from '../content/kind.js';
import type { RowChange } from '../domain/row-change.js';
import { LimitReached } from '../errors.js';
import { isEmpty } from './cells.js';
import { type ChunkEntry, type NewChunk, partOf } from './chunks.js';
import { type Cell, isStored, isWritable } from './column.js';
import { createCellOf, type OpenTable, type TableState } from './compute.js';
import { createFaults, type Faults } from './faults.js';
import { createTableImage, createTableView } from './image.js';
import { readTableInput, type TableInput } from './input.js';
import { type ColumnPlan, keepColumns, planColumns } from './plan-columns.js';
import { planChanges, planReplace, type RowPlan } from './plan-rows.js';
import { type Edits, isNew, onlyAppends, openParts, type Piece, rebuild } from './rebuild.js';
import { entriesOf, packEntry, type TableHead } from './records.js';
import { originsOf } from './row-facts.js';
import { type RowInput, readRows, rowsById } from './row-input.js';
import type { Row } from './rows.js';
import { type Breathe, ROWS_AT_ONCE } from './slices.js';
import type { TableStates } from './state.js';
import { createRowTaker } from './take-rows.js';

export type Head = Omit<TableHead, 'version'>;

/** The result of a planned write to a table. */
export interface Outcome {
  readonly head: Head;
  /** New chunks that are not stored yet, by number. */
  readonly fresh: ReadonlyMap<number, NewChunk>;
  readonly warnings: readonly Warning[];
  /** Whether the write loses rows or values. */
  readonly loses: boolean;
  /** The rows that it addresses one by one and changes. */
  readonly rows: readonly RowChange[];
}

/** A write as a request states it, with all that it depends on apart from stored rows; plain values only. */
export interface WriteRequest {
  readonly head: Head;
  readonly input: ContentInput;
  readonly actor: Actor;
  readonly maxRows: number;
  readonly maxChoices: number;
  /** Whether this is the first content, which may consist of columns alone. */
  readonly isNewTable: boolean;
  /** Whether the input is a complete state, such as from an archive, which may exceed the row limit of a request. */
  readonly isWhole: boolean;
}

/** How planning reads rows and links, and pauses. */
export interface WriteTerms extends Omit<WriteRequest, 'input' | 'isWhole'> {
  readonly states: Pick<TableStates, 'open' | 'text'>;
  readonly open: OpenTable;
  readonly breathe: Breathe;
  /** Whether all row ids are new in the table, so that they are not looked up. */
  readonly newIds?: boolean;
}

/** Plans a write. Throws one error with all faults of the request; stores nothing. */
export async function planWrite(writing: WriteTerms & WriteRequest): Promise<Outcome> {
  const faults = createFaults();
  const input = await readTableInput(writing.input, faults, writing.breathe, !writing.isWhole);
  requireParts(input, writing.isNewTable, faults);
  faults.check();
  return planInput(writing, input, faults, undefined, writing.input.rowFacts);
}

/** Plans appending rows that have new ids, and cells by column id. */
export function planAppend(writing: WriteTerms, rows: readonly NewRow[]): Promise<Outcome> {
  return planInput({ ...writing, newIds: true }, APPEND, createFaults(), rows);
}

/** A row that another part of the service appends. */
export interface NewRow {
  readonly id: string;
  readonly cells: Readonly<Record<string, unknown>>;
}

const APPEND: TableInput = {
  mode: 'append',
  columns: undefined,
  rows: undefined,
  typecast: true,
  keyColumnId: undefined,
  deleteRowIds: [],
};

async function planInput(
  writing: WriteTerms,
  input: TableInput,
  faults: Faults,
  given?: readonly NewRow[],
  facts?: readonly RowFacts[],
): Promise<Outcome> {
  const { head, states, actor, breathe } = writing;
  const plan = await columnPlan(input, writing, faults);
  faults.check();
  const { columns } = plan;
  const rows = given ? rowsById(given, columns) : await readRows(input.rows ?? [], columns, faults, breathe);
  const convert = input.mode !== 'replace' && head.rowCount > 0 && needsConvert(plan, head);
  const state = await openFor(writing, input, plan, rows, convert);
  const shown = await shownReadOnly(writing, state, rows, plan);
  const numberOf = (index: number, columnId: string) => facts?.[index]?.numbers?.[columnId];
  const { typecast } = input;
  const taker = createRowTaker({ plan, typecast, nextNumbers: head.nextNumbers, faults, shown, numberOf });
  const now = Date.now();
  const { people, by, originOf } = originsOf(head.people, actor, facts, now);
  const newIds = writing.newIds === true;
  const parts = { state, plan, input, rows, taker, by, originOf, now, faults, breathe, newIds };
  const { edits, gone, changes }: RowPlan = await (input.mode === 'replace'
    ? planReplace(parts)
    : planChanges(parts, convert));
  faults.check();

  const entries = entriesOf(head);
  const read = (chunk: number) => states.text(head.id, entries, chunk, breathe);
  const part = partAtEnd(head, entries, edits);
  const pieces = part ?? (await rebuild(entries, edits, read, breathe, head.open));
  const rowCount = pieces.reduce((sum, { rows: count }) => sum + count, 0);
  if (rowCount > writing.maxRows) throw LimitReached({ limit: writing.maxRows, what: 'rows in a table' });
  return {
    ...outcome(head, pieces, {
      columns: plan.settled(),
      primary: plan.primary,
      nextSlot: plan.nextSlot,
      nextNumbers: taker.nextNumbers,
      people,
      open: part === undefined ? openParts(pieces, entries, head.open) : (head.open ?? 0) + 1,
    }),
    warnings: taker.warnings(),
    rows: changes,
    loses: gone > 0 || taker.cleared() > 0 || (head.rowCount > 0 && plan.removed.some(isStored)),
  };
}

/** Returns the chunks after appending a few rows as a part of their own; undefined if that is not possible. */
function partAtEnd(head: Head, entries: readonly ChunkEntry[], edits: Edits): Piece[] | undefined {
  if (head.open === undefined || head.open === 0 || !onlyAppends(head.rowCount, edits)) return undefined;
  const rows = edits.inserted.get(head.rowCount) ?? [];
  const part = partOf(entries.slice(-head.open), rows);
  return part && [...entries, part];
}

type Facts = Pick<Head, 'columns' | 'primary' | 'nextSlot' | 'nextNumbers' | 'people' | 'open'>;

/** Returns a head with these chunks, and the new ones with their numbers. */
export function outcome(head: Head, pieces: readonly Piece[], facts: Facts): Pick<Outcome, 'head' | 'fresh'> {
  const fresh = new Map<number, NewChunk>();
  let { nextChunk } = head;
  const entries = pieces.map((piece) => {
    if (!isNew(piece)) return piece;
    const number = nextChunk++;
    fresh.set(number, piece);
    return { ...piece, number };
  });
  const rowCount = entries.reduce((sum, { rows }) => sum + rows, 0);
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0) + Buffer.byteLength(JSON.stringify(facts.columns));
  const { columns, primary, nextSlot, nextNumbers, people, open } = facts;
  const changed = { columns, primary, nextSlot, nextNumbers, people, open };
  return { head: { ...head, ...changed, chunks: entries.map(packEntry), nextChunk, rowCount, bytes }, fresh };
}

/** Returns whether two states of a table are the same for every reader. */
export function sameContent(a: Head, b: Head): boolean {
  const facts = ({ columns, primary, chunks }: Head): string =>
    JSON.stringify([columns, primary, chunks.map(([number]) => number)]);
  return facts(a) === facts(b);
}

function requireParts({ mode, columns, rows }: TableInput, isNewTable: boolean, faults: Faults): void {
  if (mode !== 'replace' || isNewTable) return;
  if (columns === undefined) faults.add('columns', 'missing_field', 'Replacing a table requires columns and rows.');
  if (rows === undefined) faults.add('rows', 'missing_field', 'Replacing a table requires columns and rows.');
}

async function columnPlan(
  { mode, columns }: TableInput,
  { head, isNewTable, maxChoices, breathe }: WriteTerms,
  faults: Faults,
): Promise<ColumnPlan> {
  if (columns === undefined) return keepColumns(head, maxChoices);
  const old = isNewTable ? { ...head, columns: [], primary: '' } : head;
  return planColumns(columns, old, { keepOthers: mode !== 'replace', maxChoices, breathe }, faults);
}

/** Returns whether rows that are not sent must be rewritten, because values are converted or rows get numbers. */
function needsConvert({ columns, conversions }: ColumnPlan, head: Head): boolean {
  const known = new Set(head.columns.map(({ slot }) => slot));
  return conversions.size > 0 || columns.some(({ type, slot }) => type === 'auto_number' && !known.has(slot));
}

/** Opens the table only if the write has to look at its rows; appending rows without ids needs none. */
async function openFor(
  { head, states, breathe, newIds }: WriteTerms,
  input: TableInput,
  plan: ColumnPlan,
  rows: readonly RowInput[],
  convert: boolean,
): Promise<TableState> {
  const byId = (newIds !== true && rows.some(({ id }) => id !== undefined)) || input.deleteRowIds.length > 0;
  const unique = input.mode !== 'replace' && plan.columns.some((column) => column.unique);
  if (byId || unique || convert || input.mode === 'upsert') return states.open(head.id, head, breathe);
  return { head, view: createTableView(createTableImage(), []) };
}

/**
 * Returns the current values of read-only columns, so that a client may send them back unchanged, and of those that
 * become writable, to which they are converted.
 */
async function shownReadOnly(
  { head, open, breathe }: WriteTerms,
  state: TableState,
  rows: readonly RowInput[],
  plan: ColumnPlan,
): Promise<(row: Row, columnId: string) => Cell> {
  const readOnly = plan.columns.flatMap((column, at) => (isWritable(column) ? [] : [{ id: column.id, at }]));
  const needed = new Set([...plan.conversions.values()].flatMap((from) => (isStored(from) ? [] : [from.id])));
  for (const { cells, index } of readOnly.length === 0 ? [] : rows) {
    for (const { id, at } of readOnly) if (!isEmpty((cells[at] ?? null) as Cell)) needed.add(id);
    if (index % ROWS_AT_ONCE === 0) await breathe();
  }
  const columns = head.columns.filter(({ id }) => needed.has(id));
  const byId = new Map(columns.map((column) => [column.id, column]));
  const cellOf = await createCellOf(state, columns, open, breathe);
  return (row, columnId) => {
    const column = byId.get(columnId);
    return column === undefined ? null : cellOf(row, column);
  };
}
