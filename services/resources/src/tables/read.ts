import { invalidField } from '@commonplace/kit/errors';
import { decodeCursor, encodeCursor } from '@commonplace/kit/store';
import { CellFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentQuery, Payload } from '../content/kind.js';
import { type Cell, type Column, findColumn, shownColumn } from './column.js';
import { type CellOf, createCellOf, type OpenTable, type TableState } from './compute.js';
import { parseFilter } from './filter.js';
import { isCellError } from './formula.js';
import { parseSort } from './order.js';
import type { TableHead } from './records.js';
import type { Row } from './rows.js';
import { selectRows } from './select.js';
import { displayedCell, nameIn } from './shown.js';
import type { Breathe } from './slices.js';
import type { TableStates } from './state.js';

/** The page of a read without one. */
const DEFAULT_LIMIT = 100;
/** Orders that are remembered, so that the next page of a list is not worked out again. */
const MOST_ORDERS = 16;

/** A row as the API gives it. */
export interface ShownRow {
  readonly id: string;
  readonly cells: Readonly<Record<string, Cell>>;
  /** Its place in the table's own order, from 0. */
  readonly position: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface TableReader {
  /** A page of a state's rows with its columns. */
  page(tableId: string, head: Head, query: ContentQuery, open: OpenTable, breathe: Breathe): Promise<Payload>;
}

type Head = Omit<TableHead, 'version'> & { readonly version?: number };

export function createTableReader(states: TableStates): TableReader {
  const orders = new Map<string, Uint32Array>();

  async function orderOf(state: TableState, head: Head, query: ContentQuery, open: OpenTable, breathe: Breathe) {
    const filter = parseFilter(query.filter, head.columns);
    const sort = parseSort(query.sort, head.columns);
    const cellOf = await createCellOf(state, head.columns, open, breathe);
    return selectRows(state, filter, sort, cellOf, breathe);
  }

  /** What the same head gave before; not where tables that are linked, or the time, have a say in it. */
  async function knownOrder(state: TableState, head: Head, query: ContentQuery, open: OpenTable, breathe: Breathe) {
    const asked = query.filter + query.sort;
    const lasting = head.version !== undefined && !head.columns.some(({ type }) => VOLATILE.has(type));
    const key = `${head.id}:${head.version}:${asked.length}:${query.filter}\n${query.sort}`;
    const known = lasting ? orders.get(key) : undefined;
    const order = known ?? (await orderOf(state, head, query, open, breathe));
    if (!lasting) return order;
    orders.delete(key);
    orders.set(key, order);
    for (const [oldest] of orders) {
      if (orders.size <= MOST_ORDERS) break;
      orders.delete(oldest);
    }
    return order;
  }

  return {
    async page(tableId, head, query, open, breathe) {
      const columns = columnsToShow(head, query.columns);
      const limit = query.page?.limit || DEFAULT_LIMIT;
      const place = placeOf(query);
      if (query.filter === '' && query.sort === '') {
        const offset = place.offset;
        const { state, first } = await states.openPart(tableId, head, offset, limit, breathe);
        const count = Math.max(Math.min(limit, head.rowCount - offset), 0);
        const numbers = Uint32Array.from({ length: count }, (_, i) => offset + i);
        const rows = await rowsOf(state, numbers, first, columns, query, open, breathe);
        return payload(head, columns, rows, { limit, offset, total: head.rowCount, cursor: query.page?.cursor });
      }
      const state = await states.open(tableId, head, breathe);
      const order = await knownOrder(state, head, query, open, breathe);
      const offset = place.after === undefined ? place.offset : resume(state, order, place.after, place.offset);
      const rows = await rowsOf(state, order.subarray(offset, offset + limit), 0, columns, query, open, breathe);
      return payload(head, columns, rows, { limit, offset, total: order.length, cursor: query.page?.cursor });
    },
  };
}

const VOLATILE = new Set(['formula', 'lookup', 'rollup', 'count', 'link']);

function columnsToShow(head: Head, keys: readonly string[]): Column[] {
  if (keys.length === 0) return [...head.columns];
  return keys.map((key) => {
    const column = findColumn(head.columns, key);
    if (column !== undefined) return column;
    throw invalidField('columns', 'unknown_column', `The table has no one column ${JSON.stringify(key)}.`);
  });
}

/** Where a page begins: behind the row that a cursor names, if it is still there, else so many rows in. */
function placeOf({ page }: ContentQuery): { offset: number; after?: string } {
  if (page === undefined || page.cursor === '') return { offset: page?.offset ?? 0 };
  const [after, offset] = decodeCursor(page.cursor);
  if (typeof after !== 'string' || !Number.isSafeInteger(offset) || Number(offset) < 0) {
    throw invalidField('cursor', 'invalid_pagination', 'The cursor is not one that this list gave.');
  }
  return { offset: Number(offset), after };
}

/** The place behind a row: where it was, unless rows came or went before it. */
function resume({ view }: TableState, order: Uint32Array, after: string, offset: number): number {
  const isIt = (place: number): boolean =>
    place >= 0 && place < order.length && view.row(order[place] as number).id === after;
  if (isIt(offset - 1)) return offset;
  for (let away = 1; away <= 1000; away++) {
    if (isIt(offset - 1 - away)) return offset - away;
    if (isIt(offset - 1 + away)) return offset + away;
  }
  return Math.min(offset, order.length);
}

async function rowsOf(
  state: TableState,
  numbers: Uint32Array,
  first: number,
  columns: readonly Column[],
  query: ContentQuery,
  open: OpenTable,
  breathe: Breathe,
): Promise<ShownRow[]> {
  const cellOf = await createCellOf(state, columns, open, breathe);
  const nameOf = nameIn(state.head.people);
  const display = query.cellFormat === CellFormat.DISPLAY;
  return Array.from(numbers, (number) => {
    const row = state.view.row(number - first);
    const cells = shownCells(row, columns, cellOf);
    if (!display) return shownRow(row, cells, number);
    const entries = columns.map(({ id }, i): [string, Cell] => {
      const cell = cells[id] ?? null;
      return [id, isCellError(cell) ? cell : displayedCell(cell, columns[i] as Column, nameOf)];
    });
    return shownRow(row, Object.fromEntries(entries), number);
  });
}

/** The cells of a row by the ids of their columns. */
export function shownCells(row: Row, columns: readonly Column[], cellOf: CellOf): Record<string, Cell> {
  return Object.fromEntries(columns.map((column) => [column.id, cellOf(row, column)]));
}

function shownRow(row: Row, cells: Record<string, Cell>, position: number): ShownRow {
  const at = (ms: number): string => new Date(ms).toISOString();
  return { id: row.id, cells, position, created_at: at(row.createdAt), updated_at: at(row.updatedAt) };
}

interface Shown {
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
  readonly cursor: string | undefined;
}

function payload(head: Head, columns: readonly Column[], rows: readonly ShownRow[], shown: Shown): Payload {
  const { limit, offset, total, cursor } = shown;
  const next = offset + rows.length;
  const hasMore = next < total && rows.length > 0;
  const last = rows.at(-1);
  return {
    columns: json(columns.map((column) => shownColumn(column, head.primary))),
    rows: json(rows),
    rowCount: head.rowCount,
    primaryColumnId: head.primary,
    page: {
      limit,
      offset: cursor === undefined || cursor === '' ? offset : 0,
      total,
      totalIsEstimate: false,
      hasMore,
      nextOffset: hasMore ? next : undefined,
      nextCursor: hasMore && last !== undefined ? encodeCursor([last.id, next]) : undefined,
    },
  };
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
