import { invalidField } from '@commonplace/kit/errors';
import { encodeInSlices } from '@commonplace/kit/slices';
import { toPage } from '@commonplace/kit/store';
import { CellFormat, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentQuery, Payload } from '../content/kind.js';
import { type Cell, type Column, findColumn, isComputed, shownColumn } from './column.js';
import { createCellOf, type OpenTable, type TableState } from './compute.js';
import { columnsOf, parseFilter } from './filter.js';
import { idFinder } from './find-rows.js';
import { isCellError } from './formula.js';
import { parseSort } from './order.js';
import type { TableHead } from './records.js';
import { isUnmoved, NEXT_ROWS, placeBehind, readRowCursor, rowCursorValues } from './row-cursor.js';
import type { Row } from './rows.js';
import { selectRows } from './select.js';
import { createDisplay } from './shown.js';
import type { Breathe } from './slices.js';
import type { TableStates } from './state.js';

/** Rows of a page if the query names no limit. */
const DEFAULT_LIMIT = 100;
/** Maximum bytes of a page's rows; a page that exceeds it ends early and reports that there are more rows. */
const MAX_PAGE_BYTES = 6 * 1024 * 1024;

/** A row in the API's form. */
export interface ShownRow {
  readonly id: string;
  readonly cells: Readonly<Record<string, Cell>>;
  /** Index in the table's own order, from 0. */
  readonly position: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A row with its authors, as indices in the table's list of people. */
export interface SignedRow extends ShownRow {
  readonly created_by: number;
  readonly updated_by: number;
}

interface TableReader {
  /** Returns a page of a state's rows with its columns; with `signed`, the rows are `SignedRow`s. */
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
      const cursor =
        query.page === undefined || query.page.cursor === '' ? undefined : readRowCursor(query.page.cursor);
      const from = cursor?.offset ?? query.page?.offset ?? 0;
      const filter = parseFilter(query.filter, head.columns);
      const sort = parseSort(query.sort, head.columns);
      if (query.rowIds !== undefined && query.rowIds.length > 0) {
        const state = await states.open(tableId, head, breathe);
        const placeOf = await idFinder(state, true, breathe);
        const places = new Set(query.rowIds.flatMap((id) => placeOf(id) ?? []));
        const numbers = Uint32Array.from(places).sort();
        const rows = await rowsOf(state, numbers, numbers.length, 0, columns, query, open, breathe, signed);
        return payload(breathe, head, columns, rows, {
          limit: numbers.length,
          offset: 0,
          total: numbers.length,
          byCursor: false,
        });
      }
      if (filter === undefined && sort.length === 0 && cursor === undefined) {
        const { state, first } = await states.openPart(tableId, head, from, limit + NEXT_ROWS, breathe);
        const count = Math.max(Math.min(limit + NEXT_ROWS, head.rowCount - from), 0);
        const numbers = Uint32Array.from({ length: count }, (_, i) => from + i);
        const rows = await rowsOf(state, numbers, limit, first, columns, query, open, breathe, signed);
        return payload(breathe, head, columns, rows, { limit, offset: from, total: head.rowCount, byCursor: false });
      }
      const state = await states.open(tableId, head, breathe);
      const asked = [...(filter === undefined ? [] : columnsOf(filter)), ...sort.map(({ column }) => column)];
      const cellOf = await createCellOf(state, asked, open, breathe);
      const select = (wanted: number) => selectRows(state, filter, sort, wanted, cellOf, breathe);
      let { rows: order, total } = await select(from + limit + NEXT_ROWS);
      let offset = from;
      if (cursor !== undefined && !isUnmoved(state, order, cursor)) {
        ({ rows: order, total } = await select(Number.POSITIVE_INFINITY));
        offset = await placeBehind(state, order, cursor, breathe);
      }
      const some = order.subarray(offset, offset + limit + NEXT_ROWS);
      const rows = await rowsOf(state, some, limit, 0, columns, query, open, breathe, signed);
      return payload(breathe, head, columns, rows, { limit, offset, total, byCursor: cursor !== undefined });
    },
  };
}

/** Returns the columns with these ids or names, each once; all if there are none. */
function columnsToShow(head: Head, keys: readonly string[]): Column[] {
  if (keys.length === 0) return [...head.columns];
  const named = keys.map((key) => {
    const column = findColumn(head.columns, key);
    if (column !== undefined) return column;
    throw invalidField(
      'columns',
      'unknown_column',
      `There is no column, or more than one, with the id or name ${JSON.stringify(key)}.`,
    );
  });
  return [...new Set(named)];
}

/** A page of rows as JSON, with the id of its last row and the ids of some rows after it. */
interface PageRows {
  readonly texts: readonly string[];
  readonly lastId: string | undefined;
  readonly nextIds: readonly string[];
}

async function rowsOf(
  state: TableState,
  numbers: Uint32Array,
  limit: number,
  first: number,
  columns: readonly Column[],
  query: ContentQuery,
  open: OpenTable,
  breathe: Breathe,
  signed: boolean,
): Promise<PageRows> {
  const cellOf = await createCellOf(state, columns, open, breathe);
  const displays =
    query.cellFormat === CellFormat.DISPLAY
      ? await Promise.all(columns.map((column) => createDisplay(state.head, column, open)))
      : undefined;
  const texts: string[] = [];
  let lastId: string | undefined;
  let bytes = 0;
  for (const number of numbers.subarray(0, limit)) {
    const row = state.view.row(number - first);
    const cells: Record<string, Cell> = {};
    for (const [i, column] of columns.entries()) {
      const cell = cellOf(row, column);
      cells[column.id] = isCellError(cell) ? cell : (displays?.[i]?.(cell) ?? cell);
      if (isComputed(column)) await breathe();
    }
    const shown = shownRow(row, cells, number);
    const text = JSON.stringify(signed ? { ...shown, created_by: row.createdBy, updated_by: row.updatedBy } : shown);
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_PAGE_BYTES && texts.length > 0) break;
    texts.push(text);
    lastId = row.id;
    await breathe();
  }
  const next = [...numbers.subarray(texts.length, texts.length + NEXT_ROWS)];
  return { texts, lastId, nextIds: next.map((number) => state.view.row(number - first).id) };
}

function shownRow(row: Row, cells: Record<string, Cell>, position: number): ShownRow {
  const at = (ms: number): string => new Date(ms).toISOString();
  return { id: row.id, cells, position, created_at: at(row.createdAt), updated_at: at(row.updatedAt) };
}

interface PageBounds {
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
  readonly byCursor: boolean;
}

async function payload(
  breathe: Breathe,
  head: Head,
  columns: readonly Column[],
  { texts, lastId, nextIds }: PageRows,
  shown: PageBounds,
): Promise<Payload> {
  const { limit, offset, total, byCursor } = shown;
  const next = offset + texts.length;
  const hasMore = next < total && texts.length > 0;
  const slice = byCursor ? { limit, offset: 0, after: [offset] } : { limit, offset };
  const page = toPage(
    slice,
    total,
    hasMore && lastId !== undefined ? rowCursorValues({ last: lastId, offset: next, total, next: nextIds }) : undefined,
  );
  return {
    format: ContentFormat.TABLE,
    columns: json(columns.map((column) => shownColumn(column, head.primary))),
    rows: await encodeInSlices(`[${texts.join(',')}]`, breathe),
    rowCount: head.rowCount,
    primaryColumnId: head.primary,
    // A page may end early, before `limit` rows.
    page: page.nextOffset === undefined ? page : { ...page, nextOffset: next },
  };
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
