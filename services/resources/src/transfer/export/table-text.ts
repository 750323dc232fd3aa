import type { Actor } from '@commonplace/kit/auth';
import { createBreathe, parseJsonInSlices } from '@commonplace/kit/slices';
import { CellFormat, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentQuery } from '../../content/kind.js';
import type { Node } from '../../domain/node.js';
import { cellText } from '../../tables/cell-text.js';
import { type ColumnType, isNumber } from '../../tables/column.js';
import type { SignedRow } from '../../tables/read.js';
import type { TransferParts } from '../parts.js';
import { shownActor } from './people.js';
import type { ArchiveTerms } from './pieces.js';

interface ShownColumn {
  readonly id: string;
  readonly name: string;
  readonly type: ColumnType;
}

/** Number of rows that one read returns. */
const ROWS_PER_READ = 1000;

interface Page {
  readonly columns: readonly ShownColumn[];
  readonly rows: readonly SignedRow[];
  /** The people to whom the rows of this page refer by index. */
  readonly people: readonly Actor[];
}

/** Yields the pages of a table, or of the state that a snapshot holds. */
export async function* tablePages(
  { kinds }: Pick<TransferParts, 'kinds'>,
  node: Node,
  cellFormat: CellFormat,
  { context }: Pick<ArchiveTerms, 'context'>,
  snapshotId?: string,
): AsyncGenerator<Page> {
  const breathe = createBreathe(context.signal);
  for (let offset = 0; ; ) {
    const query: ContentQuery = {
      format: ContentFormat.UNSPECIFIED,
      page: { limit: ROWS_PER_READ, offset, cursor: '' },
      filter: '',
      sort: '',
      columns: [],
      cellFormat,
    };
    const { page, people } = await kinds.table.signed(node, snapshotId, query, context);
    const columns = JSON.parse(String(page.columns)) as ShownColumn[];
    const rows = (await parseJsonInSlices(page.rows as Buffer, breathe)) as SignedRow[];
    yield { columns, rows, people };
    offset += rows.length;
    if (!page.page?.hasMore || rows.length === 0) return;
  }
}

/** Yields a table as JSON, row by row, followed by the people to whom the rows refer by index. */
export async function* tableJson(
  parts: TransferParts,
  node: Node,
  terms: Pick<ArchiveTerms, 'context' | 'emails'>,
  snapshotId?: string,
): AsyncGenerator<string> {
  let first = true;
  const named = createNamed();
  for await (const { columns, rows, people } of tablePages(parts, node, CellFormat.RAW, terms, snapshotId)) {
    if (first) yield `{"columns":${JSON.stringify(columns)},"rows":[`;
    for (const { position: _, created_by, updated_by, ...row } of rows) {
      const by = { created_by: named.place(people[created_by]), updated_by: named.place(people[updated_by]) };
      yield `${first ? '\n' : ',\n'}${JSON.stringify({ ...row, ...by })}`;
      first = false;
    }
    if (rows.length === 0) break;
  }
  await terms.emails.load(named.people.map(({ id }) => id));
  yield `],"people":${JSON.stringify(named.people.map((one) => shownActor(one, terms.emails)))}}\n`;
}

/** Collects people in the order of their first mention, so that equal rows give equal output. */
function createNamed() {
  const people: Actor[] = [];
  const places = new Map<string, number>();
  return {
    people,
    place(actor: Actor = NOBODY): number {
      const key = `${actor.type} ${actor.id} ${actor.name}`;
      const place = places.get(key) ?? people.push(actor) - 1;
      places.set(key, place);
      return place;
    },
  };
}

const NOBODY: Actor = { type: 'system', id: '', name: '' };

/**
 * Yields a table as CSV (RFC 4180) for readers: names in the first line, display values in the cells. Texts that a
 * spreadsheet would run as formulas have an apostrophe in front.
 */
export async function* tableCsv(
  parts: TransferParts,
  node: Node,
  terms: Pick<ArchiveTerms, 'context'>,
): AsyncGenerator<string> {
  let first = true;
  for await (const { columns, rows } of tablePages(parts, node, CellFormat.DISPLAY, terms)) {
    if (first) yield csvLine(columns.map(({ name }) => harmless(name)));
    first = false;
    const texts = columns.map(({ id, type }) => ({ id, show: isNumber(type) ? cellText : harmlessCell }));
    for (const { cells } of rows) yield csvLine(texts.map(({ id, show }) => show(cells[id])));
  }
}

/** How formulas begin; signs before digits alone, as in numbers and telephone numbers, begin none. */
const FORMULA = /^(?:[=@\t\r\n＝＠]|[+＋\-－](?![\d\s().,:/%-]*$))/;

/**
 * Matches the start of a formula after a semicolon, a tab or a line end. Spreadsheets in many languages separate cells
 * by semicolons: they ignore quotation marks after a comma and start a new cell at a semicolon within them. A plus or
 * minus sign counts only if a call, another sheet or a program follows, because lists in texts start with these signs
 * too.
 */
const LATER_FORMULA = /([;\t\r\n][ "]*)(?=[=@＝＠]|[+＋\-－][^;\t\r\n]*[(|!])/g;

/** Returns a text that a spreadsheet does not run: anyone who may fill in a form could have written it. */
function harmless(text: string): string {
  const later = text.replace(LATER_FORMULA, "$1'");
  return FORMULA.test(text) ? `'${later}` : later;
}

const harmlessCell = (cell: unknown): string => harmless(cellText(cell));

function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}
