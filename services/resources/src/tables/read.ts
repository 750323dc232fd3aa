import { invalidField } from '@commonplace/kit/errors';
import { decodeCursor, toPage } from '@commonplace/kit/store';
import { CellFormat, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentQuery, Payload } from '../content/kind.js';
import { type Cell, type Column, findColumn, shownColumn } from './column.js';
import { createCellOf, type OpenTable, type TableState } from './compute.js';
import { columnsOf, parseFilter } from './filter.js';
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
/** A page ends early rather than that an answer has much more bytes; it says that there are more rows. */
const MOST_BYTES = 6 * 1024 * 1024;
/** How far a cursor's row is looked for from where it was. */
const MOST_MOVED = 1000;

/** A row as the API gives it. */
export interface ShownRow {
  readonly id: string;
  readonly cells: Readonly<Record<string, Cell>>;
  /** Its place in the table's own order, from 0. */
  readonly position: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A row with who made and changed it, as places in the table's list of people. */
export interface SignedRow extends ShownRow {
  readonly created_by: number;
  readonly updated_by: number;
}

export interface TableReader {
  /** A page of a state's rows with its columns; `signed`: of `SignedRow`. */
  page(
    tableId: string,
    head: Head,
    query: ContentQuery,
    open: OpenTable,
    breathe: Breathe,
    signed?: boolean,
  ): Promise<Payload>;
}

type Head = Omit<TableHead, 'version'> & { readonly version?: number };

export function createTableReader(states: TableStates): TableReader {
  return {
    async page(tableId, head, query, open, breathe, signed = false) {
      const columns = columnsToShow(head, query.columns);
      const limit = query.page?.limit || DEFAULT_LIMIT;
      const { offset: from, after } = placeOf(query);
      const filter = parseFilter(query.filter, head.columns);
      const sort = parseSort(query.sort, head.columns);
      if (filter === undefined && sort.length === 0 && after === undefined) {
        const { state, first } = await states.openPart(tableId, head, from, limit, breathe);
        const count = Math.max(Math.min(limit, head.rowCount - from), 0);
        const numbers = Uint32Array.from({ length: count }, (_, i) => from + i);
        const rows = await rowsOf(state, numbers, first, columns, query, open, breathe, signed);
        return payload(head, columns, rows, { limit, offset: from, total: head.rowCount, byCursor: false });
      }
      const state = await states.open(tableId, head, breathe);
      const asked = [...(filter === undefined ? [] : columnsOf(filter)), ...sort.map(({ column }) => column)];
      const cellOf = await createCellOf(state, asked, open, breathe);
      const wanted = from + limit + (after === undefined ? 0 : MOST_MOVED);
      const { rows: order, total } = await selectRows(state, filter, sort, wanted, cellOf, breathe);
      const offset = after === undefined ? from : resume(state, order, after, from);
      const some = order.subarray(offset, offset + limit);
      const rows = await rowsOf(state, some, 0, columns, query, open, breathe, signed);
      return payload(head, columns, rows, { limit, offset, total, byCursor: after !== undefined });
    },
  };
}

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
  for (let away = 1; away <= MOST_MOVED; away++) {
    if (isIt(offset - 1 - away)) return offset - away;
    if (isIt(offset - 1 + away)) return offset + away;
  }
  return Math.min(offset, order.length);
}

/** A page of rows as JSON, with the id of its last row. */
interface PageRows {
  readonly texts: readonly string[];
  readonly lastId: string | undefined;
}

async function rowsOf(
  state: TableState,
  numbers: Uint32Array,
  first: number,
  columns: readonly Column[],
  query: ContentQuery,
  open: OpenTable,
  breathe: Breathe,
  signed: boolean,
): Promise<PageRows> {
  const cellOf = await createCellOf(state, columns, open, breathe);
  const nameOf = nameIn(state.head.people);
  const display = query.cellFormat === CellFormat.DISPLAY;
  const texts: string[] = [];
  let lastId: string | undefined;
  let bytes = 0;
  for (const number of numbers) {
    const row = state.view.row(number - first);
    const cells = Object.fromEntries(
      columns.map((column) => {
        const cell = cellOf(row, column);
        return [column.id, display && !isCellError(cell) ? displayedCell(cell, column, nameOf) : cell];
      }),
    );
    const shown = shownRow(row, cells, number);
    const text = JSON.stringify(signed ? { ...shown, created_by: row.createdBy, updated_by: row.updatedBy } : shown);
    bytes += Buffer.byteLength(text);
    if (bytes > MOST_BYTES && texts.length > 0) break;
    texts.push(text);
    lastId = row.id;
    await breathe();
  }
  return { texts, lastId };
}

function shownRow(row: Row, cells: Record<string, Cell>, position: number): ShownRow {
  const at = (ms: number): string => new Date(ms).toISOString();
  return { id: row.id, cells, position, created_at: at(row.createdAt), updated_at: at(row.updatedAt) };
}

interface Shown {
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
  readonly byCursor: boolean;
}

function payload(head: Head, columns: readonly Column[], { texts, lastId }: PageRows, shown: Shown): Payload {
  const { limit, offset, total, byCursor } = shown;
  const next = offset + texts.length;
  const hasMore = next < total && texts.length > 0;
  const slice = byCursor ? { limit, offset: 0, after: [offset] } : { limit, offset };
  const page = toPage(slice, total, hasMore && lastId !== undefined ? [lastId, next] : undefined);
  return {
    format: ContentFormat.TABLE,
    columns: json(columns.map((column) => shownColumn(column, head.primary))),
    rows: Buffer.from(`[${texts.join(',')}]`),
    rowCount: head.rowCount,
    primaryColumnId: head.primary,
    // A page may end early.
    page: page.nextOffset === undefined ? page : { ...page, nextOffset: next },
  };
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
