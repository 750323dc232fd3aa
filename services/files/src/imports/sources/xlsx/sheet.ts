import type { Sheet, SheetCell } from '../../../media/protocol.js';
import { faultOf, parser } from '../common/parser.js';
import { oneLine, wellFormed } from '../common/text.js';
import { buildTable, checkSize, MAX_COLUMNS, MAX_ROWS, type Table } from '../csv/table.js';
import { isDate, type Value } from '../csv/values.js';
import type { Bundle, SourceOptions } from '../port.js';

/** Bytes beyond which a workbook is refused, because its archive is held in memory as a whole. */
const MAX_BOOK_BYTES = 128 * 1024 * 1024;
/** Maximum number of title rows that are recognized above the names of the columns. */
const MAX_TITLE_ROWS = 10;

const isFilled = (cell: SheetCell | undefined): boolean =>
  cell !== null && cell !== undefined && !(typeof cell === 'string' && cell.trim() === '');
const filled = (row: readonly SheetCell[]): number => row.filter(isFilled).length;

const DAY_MS = 24 * 60 * 60 * 1000;
/** The date of Excel's day 0, from which times of day and durations count. */
const DAY_0 = Date.UTC(1899, 11, 30);
/** Excel counts a 29 February 1900, so that its days before this one are a day later than they are read. */
const MARCH_1900 = Date.UTC(1900, 2, 1);

/** Returns whether a value is a time of day, a duration, or a day before March 1900, none of which a cell tells. */
const isEarly = (cell: SheetCell | undefined): cell is Date => isDate(cell) && cell.getTime() < MARCH_1900;
const hasTime = (date: Date): boolean => date.getTime() % DAY_MS !== 0 || date.getTime() <= DAY_0;

/** Formats the time since Excel's day 0 as `13:30:00`, or `40:00:00` for more than a day. */
function clockTime(date: Date): string {
  const seconds = Math.round((date.getTime() - DAY_0) / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

/** Converts a cell. `timed` says whether early dates of its column are times. */
function valueFrom(cell: SheetCell, timed = isEarly(cell) && hasTime(cell)): Value {
  if (typeof cell === 'string') return wellFormed(cell).replace(/\r\n?/g, '\n');
  if (!isEarly(cell) || cell.getTime() < DAY_0) return cell;
  return timed ? clockTime(cell) : new Date(cell.getTime() + DAY_MS);
}

/** Converts rows; a column in which an early date has a time has times alone. */
function valuesFrom(rows: readonly (readonly SheetCell[])[]): Value[][] {
  const timed = new Set<number>();
  for (const row of rows) {
    row.forEach((cell, at) => {
      if (isEarly(cell) && hasTime(cell)) timed.add(at);
    });
  }
  return rows.map((row) => row.map((cell, at) => valueFrom(cell, timed.has(at))));
}

/** Counts the rows at the top that are a title across merged cells: a single value in a wider sheet. */
function titleRows(rows: readonly (readonly SheetCell[])[]): number {
  let count = 0;
  while (count < Math.min(MAX_TITLE_ROWS, rows.length - 2) && filled(rows[count] ?? []) === 1) count += 1;
  const next = rows[count];
  return next !== undefined && filled(next) >= 2 ? count : 0;
}

/** Returns whether a row groups the column names below it: each column has a name there, or a merged cell above. */
function isGroupRow(row: readonly SheetCell[], below: readonly SheetCell[] | undefined): boolean {
  const isText = (cell: SheetCell | undefined) => !isFilled(cell) || typeof cell === 'string';
  return (
    below !== undefined &&
    row.every(isText) &&
    below.every(isText) &&
    below.every((cell, at) => isFilled(cell) || isFilled(row[at]))
  );
}

/** Prefixes column names with the names of their groups: `Sales: North`. */
function groupedNames(groups: readonly SheetCell[], names: readonly SheetCell[]): string[] {
  let group = '';
  return names.map((name, at) => {
    const cell = groups[at];
    if (isFilled(cell)) group = oneLine(String(cell));
    if (!isFilled(name)) return group;
    return group === '' ? String(name) : `${group}: ${name}`;
  });
}

const typesOf = (row: readonly SheetCell[]) =>
  row.filter(isFilled).map((cell) => (isDate(cell) ? 'date' : typeof cell));

/** Returns whether the first row names the columns: it holds only text and other rows follow. */
function hasNames(rows: readonly (readonly SheetCell[])[]): boolean {
  const [first] = rows;
  return first !== undefined && rows.length > 1 && typesOf(first).every((type) => type === 'string');
}

/** What a new table has. */
const EMPTY: Table = { columns: [{ id: 'c1', name: 'Name', type: 'text' }], rows: [] };

interface SheetTable {
  readonly table: Table;
  readonly description?: string;
  readonly warnings: string[];
}

/** Maximum number of cells that a warning names. */
const MAX_NAMED_CELLS = 10;

function uncalculatedWarning(places: readonly string[]): string {
  const named = places.slice(0, MAX_NAMED_CELLS).join(', ') + (places.length > MAX_NAMED_CELLS ? ' and others' : '');
  const cells = places.length === 1 ? 'A cell is' : `${places.length} cells are`;
  return `${cells} empty because the workbook has a formula without its value there: ${named}. A spreadsheet program that opens and saves the workbook adds the values.`;
}

/** Builds a table from a sheet's rows. A sheet without any becomes an empty table. */
function tableOf(
  { rows, merged, uncalculated }: Pick<Sheet, 'rows' | 'merged' | 'uncalculated'>,
  path: string,
  options: SourceOptions['csv'] = {},
): SheetTable {
  const warnings = uncalculated.length === 0 ? [] : [uncalculatedWarning(uncalculated)];
  if (rows.length === 0) return { table: EMPTY, warnings: ['The sheet is empty.', ...warnings] };
  const titles = options.hasHeader === false ? 0 : titleRows(rows);
  const title = rows.slice(0, titles).map((row) =>
    row
      .filter(isFilled)
      .map((cell) => oneLine(String(cell)))
      .join(' '),
  );
  if (titles > 0) warnings.push(`${titles} rows above the names of the columns became the table's description.`);
  let rest = rows.slice(titles);
  const [first = []] = rest;
  let header: Value[] = first.map(() => null);
  if (options.hasHeader ?? hasNames(rest)) {
    const isGrouped = merged.includes(titles) && isGroupRow(first, rest[1]);
    header = isGrouped ? groupedNames(first, rest[1] ?? []) : first.map((cell) => valueFrom(cell));
    rest = rest.slice(isGrouped ? 2 : 1);
  }
  checkSize(rest.length, header.length, path);
  const values = valuesFrom(rest);
  const built = buildTable({ header, rows: values, detectTypes: options.detectTypes ?? true, hints: { texts: false } });
  return {
    table: built.table,
    description: title.join('\n').slice(0, 2000) || undefined,
    warnings: [...warnings, ...built.warnings],
  };
}

/** Returns the names of a workbook's sheets. Rejects with an `ImportFault`. */
export async function sheetNames(bundle: Bundle, path: string): Promise<readonly string[]> {
  return (await ask(bundle, path)).sheets;
}

/** Reads a sheet of a workbook as a table. Rejects with an `ImportFault`. */
export async function readSheetTable(
  bundle: Bundle,
  path: string,
  sheet: string,
  options: SourceOptions['csv'],
): Promise<SheetTable> {
  return tableOf(await ask(bundle, path, sheet), `${path}, sheet ${sheet}`, options);
}

async function ask(bundle: Bundle, path: string, sheet?: string) {
  try {
    const book = await bundle.read(path, MAX_BOOK_BYTES);
    // Title rows are not counted as rows of the table.
    return await parser().readSheet(
      bundle.tenant ?? '',
      book,
      { maxRows: MAX_ROWS + MAX_TITLE_ROWS, maxColumns: MAX_COLUMNS },
      sheet,
    );
  } catch (error) {
    throw faultOf(error, path);
  }
}
