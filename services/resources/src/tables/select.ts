import { displayText, isEmpty, plainText } from './cells.js';
import { type Cell, type Column, isComputed, isText } from './column.js';
import type { CellOf, TableState } from './compute.js';
import { columnsOf, type Filter, type Test } from './filter.js';
import { type Field, fieldOf, type LoadedColumn, textOf } from './image.js';
import { firstBy, orderBy, type SortKey, type SortTerm } from './order.js';
import { decodeRows } from './rows.js';
import { nameIn, shownCell } from './shown.js';
import { type Breathe, STRIDE } from './slices.js';
import { createTerms } from './terms.js';
import { sortTexts } from './text-order.js';

/** Rows by their indices in the table's own order. */
interface Selection {
  /** The rows in the requested order: all that match, or at least the first `wanted` of them. */
  readonly rows: Uint32Array;
  /** Number of rows that match. */
  readonly total: number;
}

/** Filters and sorts rows. May leave out rows beyond the first `wanted`. */
export async function selectRows(
  state: TableState,
  filter: Filter | undefined,
  sort: readonly SortTerm[],
  wanted: number,
  cellOf: CellOf,
  breathe: Breathe,
): Promise<Selection> {
  const asked = new Map<string, Column>();
  for (const column of filter === undefined ? [] : columnsOf(filter)) asked.set(column.id, column);
  for (const { column } of sort) asked.set(column.id, column);
  const loaded = await loadColumns(state, [...asked.values()], cellOf, breathe);
  const matched = await matching(state, filter, loaded, breathe);
  if (sort.length === 0) return { rows: matched, total: matched.length };
  const keys: SortKey[] = [];
  for (const { column, descending } of sort) {
    const values = await sortValues(state, column, loaded.get(column.id) as LoadedColumn, matched, breathe);
    keys.push({ values, descending });
  }
  const few = wanted * 8 < matched.length;
  const places = few
    ? await firstBy(keys, matched.length, wanted, breathe)
    : await orderBy(keys, matched.length, breathe);
  for (let i = 0; i < places.length; i++) {
    places[i] = matched[places[i] as number] as number;
    if (i % STRIDE === 0) await breathe();
  }
  return { rows: places, total: matched.length };
}

async function loadColumns(
  state: TableState,
  columns: readonly Column[],
  cellOf: CellOf,
  breathe: Breathe,
): Promise<Map<string, LoadedColumn>> {
  const stored = columns.filter((column) => !isComputed(column));
  const loaded = await state.view.load(stored.map(fieldOf), breathe);
  const all = new Map(stored.map((column, i) => [column.id, loaded[i] as LoadedColumn]));
  const computed = columns.filter(isComputed);
  if (computed.length > 0) {
    for (const [id, values] of await computeColumns(state, computed, cellOf, breathe)) all.set(id, values);
  }
  return all;
}

/** Computes columns for all rows, without caching the values. */
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
        // A cell may depend on hundreds of formulas.
        await breathe();
      }
      vectors.push(vector);
    }
  }
  return made.map(({ column, ...loaded }) => [column.id, loaded] as const);
}

async function matching(
  { view, head }: TableState,
  filter: Filter | undefined,
  loaded: ReadonlyMap<string, LoadedColumn>,
  breathe: Breathe,
): Promise<Uint32Array> {
  if (filter === undefined) {
    const all = new Uint32Array(view.rowCount);
    for (let at = 0; at < all.length; at++) {
      all[at] = at;
      if (at % STRIDE === 0) await breathe();
    }
    return all;
  }
  const mask = async (part: Filter): Promise<Uint8Array> => {
    if ('column' in part)
      return testRows(part, loaded.get(part.column.id) as LoadedColumn, view.rowCount, head.people, breathe);
    const every = 'all' in part;
    const out = new Uint8Array(view.rowCount).fill(every ? 1 : 0);
    for (const each of every ? part.all : part.any) {
      const mine = await mask(each);
      for (let at = 0; at < out.length; at++) {
        if (every) out[at] = (out[at] as number) & (mine[at] as number);
        else out[at] = (out[at] as number) | (mine[at] as number);
        if (at % STRIDE === 0) await breathe();
      }
    }
    return out;
  };
  const holds = await mask(filter);
  let count = 0;
  for (const each of holds) count += each;
  await breathe();
  const out = new Uint32Array(count);
  for (let at = 0, next = 0; at < holds.length; at++) {
    if (holds[at] === 1) out[next++] = at;
    if (at % STRIDE === 0) await breathe();
  }
  return out;
}

async function testRows(
  test: Test,
  { field, terms, vectors }: LoadedColumn,
  rowCount: number,
  people: TableState['head']['people'],
  breathe: Breathe,
): Promise<Uint8Array> {
  const out = new Uint8Array(rowCount);
  let next = 0;
  if (field.kind !== 'term') {
    for (const vector of vectors) {
      if (test.scan === undefined) {
        for (let i = 0; i < vector.length; i++) out[next + i] = test.number(vector[i] as number) ? 1 : 0;
      } else test.scan(vector as Float64Array, out, next);
      next += vector.length;
      await breathe();
    }
    return out;
  }
  const holds = new Uint8Array(terms.cells.length);
  const { search } = test;
  for (let code = 0; code < holds.length; code++) {
    const held =
      search === undefined
        ? test.cell(shownCell(terms.cells[code] as Cell, test.column, people))
        : terms.folded(code).includes(search.text) === search.want;
    holds[code] = held ? 1 : 0;
    if (code % STRIDE === 0) await breathe();
  }
  for (const vector of vectors) {
    for (let i = 0; i < vector.length; i++) out[next + i] = holds[vector[i] as number] as number;
    next += vector.length;
    await breathe();
  }
  return out;
}

/** Returns the number by which each matched row is sorted. */
async function sortValues(
  { view, head }: TableState,
  column: Column,
  loaded: LoadedColumn,
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
    if (i % STRIDE === 0) await breathe();
  }
  return out;
}

/** Returns a number by term code that sorts the terms; NaN for empty ones. */
async function ranksOf(
  column: Column,
  { terms }: LoadedColumn,
  people: TableState['head']['people'],
  breathe: Breathe,
): Promise<Float64Array> {
  const byText = isText(column.type);
  const ranks = byText ? await terms.ranks(breathe) : await otherRanks(column, terms.cells, people, breathe);
  const out = new Float64Array(ranks);
  await breathe();
  out[0] = Number.NaN;
  const blank = terms.find('');
  if (blank !== undefined) out[blank] = Number.NaN;
  return out;
}

/** Ranks choices by the column's own order, numbers by size, and everything else by its displayed text. */
async function otherRanks(
  column: Column,
  cells: readonly Cell[],
  people: TableState['head']['people'],
  breathe: Breathe,
): Promise<ArrayLike<number>> {
  if (column.type === 'select') {
    const places = new Map(column.options.choices?.map(({ id }, place) => [id, place]));
    return cells.map((cell) => places.get(cell as string) ?? places.size);
  }
  if (cells.every((cell) => cell === null || typeof cell === 'number' || typeof cell === 'boolean')) {
    return cells.map((cell) => (isEmpty(cell) ? Number.NaN : Number(cell)));
  }
  const nameOf = nameIn(people);
  const texts: string[] = [];
  for (const cell of cells) {
    texts.push(sortText(shownCell(cell, column, people), column, nameOf));
    if (texts.length % STRIDE === 0) await breathe();
  }
  const codes = await sortTexts(texts, breathe);
  const places = new Float64Array(cells.length);
  let place = 0;
  for (const [i, code] of codes.entries()) {
    if (i > 0 && texts[code] !== texts[codes[i - 1] as number]) place++;
    places[code] = place;
    if (i % STRIDE === 0) await breathe();
  }
  return places;
}

function sortText(cell: Cell, column: Column, nameOf: (id: string) => string | undefined): string {
  // Among texts, numbers from formulas are sorted by their digits.
  return typeof cell === 'number' ? (plainText(cell) ?? '') : displayText(cell, column, nameOf);
}
