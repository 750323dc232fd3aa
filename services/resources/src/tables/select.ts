import { displayText, isEmpty, plainText } from './cells.js';
import { type Cell, type Column, isComputed } from './column.js';
import type { CellOf, TableState } from './compute.js';
import { columnsOf, type Filter, type Test } from './filter.js';
import { type Field, fieldOf, type Loaded, textOf } from './image.js';
import { orderBy, type SortKey, type SortTerm } from './order.js';
import { decodeRows } from './rows.js';
import { nameIn, shownCell } from './shown.js';
import { type Breathe, STRIDE, sortInSlices } from './slices.js';
import { compareText, createTerms } from './terms.js';

/** Which rows, in which order: their numbers in the table's own order. */
export async function selectRows(
  state: TableState,
  filter: Filter | undefined,
  sort: readonly SortTerm[],
  cellOf: CellOf,
  breathe: Breathe,
): Promise<Uint32Array> {
  const asked = new Map<string, Column>();
  for (const column of filter === undefined ? [] : columnsOf(filter)) asked.set(column.id, column);
  for (const { column } of sort) asked.set(column.id, column);
  const loaded = await loadColumns(state, [...asked.values()], cellOf, breathe);
  const matched = await matching(state, filter, loaded, breathe);
  if (sort.length === 0) return matched;
  const keys: SortKey[] = [];
  for (const { column, descending } of sort) {
    const values = await sortValues(state, column, loaded.get(column.id) as Loaded, matched, breathe);
    keys.push({ values, descending });
  }
  return (await orderBy(keys, matched.length, breathe)).map((place) => matched[place] as number);
}

async function loadColumns(
  state: TableState,
  columns: readonly Column[],
  cellOf: CellOf,
  breathe: Breathe,
): Promise<Map<string, Loaded>> {
  const stored = columns.filter((column) => !isComputed(column));
  const loaded = await state.view.load(stored.map(fieldOf), breathe);
  const all = new Map(stored.map((column, i) => [column.id, loaded[i] as Loaded]));
  const computed = columns.filter(isComputed);
  if (computed.length > 0) {
    for (const [id, values] of await computeColumns(state, computed, cellOf, breathe)) all.set(id, values);
  }
  return all;
}

/** Columns that are worked out, for all rows; they are not kept. */
async function computeColumns({ view }: TableState, columns: readonly Column[], cellOf: CellOf, breathe: Breathe) {
  const made = columns.map((column) => {
    const field: Field = { slot: column.slot, kind: 'term' };
    return { column, field, terms: createTerms(), vectors: [] as Uint32Array[] };
  });
  for (const chunk of view.chunks) {
    const rows = decodeRows(textOf(chunk));
    for (const { column, terms, vectors } of made) {
      const vector = new Uint32Array(rows.length);
      for (let i = 0; i < rows.length; i++) {
        vector[i] = terms.code(cellOf(rows[i] as (typeof rows)[number], column));
        if (i % 64 === 63) await breathe();
      }
      vectors.push(vector);
    }
  }
  return made.map(({ column, ...loaded }) => [column.id, loaded] as const);
}

async function matching(
  { view, head }: TableState,
  filter: Filter | undefined,
  loaded: ReadonlyMap<string, Loaded>,
  breathe: Breathe,
): Promise<Uint32Array> {
  if (filter === undefined) return Uint32Array.from({ length: view.rowCount }, (_, at) => at);
  const mask = async (part: Filter): Promise<Uint8Array> => {
    if ('column' in part)
      return testRows(part, loaded.get(part.column.id) as Loaded, view.rowCount, head.people, breathe);
    const every = 'all' in part;
    const out = new Uint8Array(view.rowCount).fill(every ? 1 : 0);
    for (const each of every ? part.all : part.any) {
      const mine = await mask(each);
      for (let at = 0; at < out.length; at++) {
        if (every) out[at] = (out[at] as number) & (mine[at] as number);
        else out[at] = (out[at] as number) | (mine[at] as number);
      }
    }
    return out;
  };
  const holds = await mask(filter);
  let count = 0;
  for (const each of holds) count += each;
  const out = new Uint32Array(count);
  for (let at = 0, next = 0; at < holds.length; at++) if (holds[at] === 1) out[next++] = at;
  return out;
}

async function testRows(
  test: Test,
  { field, terms, vectors }: Loaded,
  rowCount: number,
  people: TableState['head']['people'],
  breathe: Breathe,
): Promise<Uint8Array> {
  const out = new Uint8Array(rowCount);
  let next = 0;
  if (field.kind !== 'term') {
    for (const vector of vectors) {
      for (const value of vector) out[next++] = test.number(value) ? 1 : 0;
      await breathe();
    }
    return out;
  }
  const holds = new Uint8Array(terms.cells.length);
  for (let code = 0; code < holds.length; code++) {
    const cell = shownCell(terms.cells[code] as Cell, test.column, people);
    holds[code] = test.cell(cell) ? 1 : 0;
    if (code % STRIDE === 0) await breathe();
  }
  for (const vector of vectors) for (const code of vector) out[next++] = holds[code] as number;
  return out;
}

/** The numbers by which some rows are ordered. */
async function sortValues(
  { view, head }: TableState,
  column: Column,
  loaded: Loaded,
  matched: Uint32Array,
  breathe: Breathe,
): Promise<Float64Array> {
  const { field, vectors } = loaded;
  const ranks = field.kind === 'term' ? await ranksOf(column, loaded, head.people, breathe) : undefined;
  const out = new Float64Array(matched.length);
  let chunk = 0;
  for (let i = 0; i < matched.length; i++) {
    const at = matched[i] as number;
    while (at >= (view.firsts[chunk + 1] ?? Number.POSITIVE_INFINITY)) chunk++;
    const value = vectors[chunk]?.[at - (view.firsts[chunk] as number)] as number;
    out[i] = ranks === undefined ? value : (ranks[value] as number);
  }
  return out;
}

/** By term, a number that orders it; NaN for what is empty. */
async function ranksOf(
  column: Column,
  { terms }: Loaded,
  people: TableState['head']['people'],
  breathe: Breathe,
): Promise<Float64Array> {
  const { type } = column;
  const byText = isPlainText(column) && terms.cells.every((cell) => cell === null || typeof cell === 'string');
  const places = byText ? await terms.ranks(breathe) : await otherRanks(column, terms.cells, people, breathe);
  const out = Float64Array.from(places);
  out[0] = Number.NaN;
  const blank = type === 'formula' || byText ? terms.find('') : undefined;
  if (blank !== undefined) out[blank] = Number.NaN;
  return out;
}

function isPlainText({ type }: Column): boolean {
  return type === 'text' || type === 'long_text' || type === 'url' || type === 'email' || type === 'phone';
}

/** Choices in the order of the column's, numbers by size, all else by what people read. */
async function otherRanks(
  column: Column,
  cells: readonly Cell[],
  people: TableState['head']['people'],
  breathe: Breathe,
): Promise<ArrayLike<number> & Iterable<number>> {
  if (column.type === 'select') {
    const places = new Map(column.options.choices?.map(({ id }, place) => [id, place]));
    return cells.map((cell) => places.get(cell as string) ?? places.size);
  }
  if (cells.every((cell) => cell === null || typeof cell === 'number' || typeof cell === 'boolean')) {
    return cells.map((cell) => (isEmpty(cell) ? Number.NaN : Number(cell)));
  }
  const nameOf = nameIn(people);
  const texts = cells.map((cell) => sortText(shownCell(cell, column, people), column, nameOf));
  const codes = await sortInSlices(
    [...cells.keys()],
    (a, b) => compareText(texts[a] as string, texts[b] as string),
    breathe,
  );
  const places = new Float64Array(cells.length);
  let place = 0;
  for (const [i, code] of codes.entries()) {
    if (i > 0 && texts[code] !== texts[codes[i - 1] as number]) place++;
    places[code] = place;
  }
  return places;
}

function sortText(cell: Cell, column: Column, nameOf: (id: string) => string | undefined): string {
  // Numbers among texts, as formulas may give them, are worth their digits.
  return typeof cell === 'number' ? (plainText(cell) ?? '') : displayText(cell, column, nameOf);
}
