import { CellFormat, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentQuery, Payload } from '../content/kind.js';
import { requireKind } from '../content/kinds.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';
import type { ShownRow } from '../tables/read.js';
import type { ArchiveTerms } from './pieces.js';

export interface ShownColumn {
  readonly id: string;
  readonly name: string;
}

/** Rows that are read at once. */
const ROWS = 1000;

/** The pages of a table, or of a state that a snapshot keeps. */
export async function* tablePages(
  parts: Parts,
  node: Node,
  cellFormat: CellFormat,
  { context }: Pick<ArchiveTerms, 'context'>,
  snapshotId?: string,
): AsyncGenerator<{ readonly columns: readonly ShownColumn[]; readonly rows: readonly ShownRow[] }> {
  const kind = requireKind(parts.kinds, 'table');
  for (let offset = 0; ; ) {
    const query: ContentQuery = {
      format: ContentFormat.UNSPECIFIED,
      page: { limit: ROWS, offset, cursor: '' },
      filter: '',
      sort: '',
      columns: [],
      cellFormat,
    };
    const page: Payload =
      snapshotId === undefined
        ? await kind.read(node, query, context)
        : await kind.readKept(node, snapshotId, query, context);
    const columns = JSON.parse(String(page.columns)) as ShownColumn[];
    const rows = JSON.parse(String(page.rows)) as ShownRow[];
    yield { columns, rows };
    offset += rows.length;
    if (!page.page?.hasMore || rows.length === 0) return;
  }
}

/** A table as JSON, row by row. */
export async function* tableJson(
  parts: Parts,
  node: Node,
  terms: Pick<ArchiveTerms, 'context'>,
  snapshotId?: string,
): AsyncGenerator<string> {
  let first = true;
  for await (const { columns, rows } of tablePages(parts, node, CellFormat.RAW, terms, snapshotId)) {
    if (first) yield `{"columns":${JSON.stringify(columns)},"rows":[`;
    for (const { position: _, ...row } of rows) {
      yield `${first ? '\n' : ',\n'}${JSON.stringify(row)}`;
      first = false;
    }
    if (rows.length === 0) break;
  }
  yield ']}\n';
}

/** A table as people read it: names in the first line, values as they are shown (RFC 4180). */
export async function* tableCsv(
  parts: Parts,
  node: Node,
  terms: Pick<ArchiveTerms, 'context'>,
): AsyncGenerator<string> {
  let first = true;
  for await (const { columns, rows } of tablePages(parts, node, CellFormat.DISPLAY, terms)) {
    if (first) yield csvLine(columns.map(({ name }) => name));
    first = false;
    for (const { cells } of rows) yield csvLine(columns.map(({ id }) => cellText(cells[id])));
  }
}

export function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
}

function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}
