import { isLongerThan } from '@commonplace/kit/words';
import { cleanName, firstCharacters } from '../common/text.js';
import { ImportFault } from '../port.js';
import { type Cell, type Hints, isEmptyValue, shapeOf, textShapeOf } from './types.js';
import { isDate, type Value } from './values.js';

export const MAX_COLUMNS = 500;
export const MAX_ROWS = 200_000;
/** Rows times columns, all of which are held in memory. */
export const MAX_CELLS = 5_000_000;
const MAX_CELL_TEXT = 100_000;

/** Holds a table in the form of a resource's content: rows hold values in the order of the columns. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

interface Column {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

interface TableInput {
  readonly header: readonly Value[];
  readonly rows: readonly (readonly Value[])[];
  /** Whether the types of columns are detected from their values. */
  readonly detectTypes: boolean;
  readonly hints: Omit<Hints, 'names'>;
}

/** Refuses a table that is larger than a resource may be. */
export function checkSize(rows: number, columns: number, path: string): void {
  if (columns > MAX_COLUMNS)
    throw new ImportFault('too_many_columns', `${path} has more than ${MAX_COLUMNS} columns, the limit of a table.`);
  if (rows > MAX_ROWS)
    throw new ImportFault('too_many_rows', `${path} has more than ${MAX_ROWS} rows, the limit of a table.`);
  if (rows * columns > MAX_CELLS)
    throw new ImportFault('too_many_cells', `${path} has more than ${MAX_CELLS} cells, the limit of an import.`);
}

/** Returns non-empty, unique column names. */
function columnNames(header: readonly Value[]): string[] {
  const taken = new Set<string>();
  return header.map((given, at) => {
    const base = cleanName(
      given === null ? '' : isDate(given) ? given.toISOString().slice(0, 10) : String(given),
      `Column ${at + 1}`,
    );
    let name = base;
    for (let number = 2; taken.has(name); number += 1) name = `${firstCharacters(base, 240)} (${number})`;
    taken.add(name);
    return name;
  });
}

/** Builds a table from values. Warnings name what did not fit. */
export function buildTable({ header, rows, detectTypes, hints }: TableInput): { table: Table; warnings: string[] } {
  const warnings: string[] = [];
  const names = columnNames(header);
  let cut = 0;
  const shapes = names.map((_, at) => {
    const values = rows.map((row) => row[at] ?? null);
    return detectTypes ? shapeOf(values, { ...hints, names: at === 0 }) : textShapeOf(values);
  });
  const fit = (cell: Cell): Cell => {
    if (typeof cell !== 'string' || !isLongerThan(cell, MAX_CELL_TEXT)) return cell;
    cut += 1;
    return firstCharacters(cell, MAX_CELL_TEXT);
  };
  const cells = rows.map((row) =>
    shapes.map((shape, at) => {
      const value = row[at] ?? null;
      return isEmptyValue(value) ? null : fit(shape.cell(value));
    }),
  );
  shapes.forEach(({ note }, at) => {
    if (note !== undefined) warnings.push(`The column "${names[at]}": ${note}.`);
  });
  if (cut > 0) warnings.push(`${cut} cells have more than ${MAX_CELL_TEXT} characters and were truncated.`);
  const columns = names.map((name, at): Column => {
    const { type, options } = shapes[at] ?? textShapeOf([]);
    return { id: `c${at + 1}`, name, type, ...(options === undefined ? {} : { options }) };
  });
  return { table: { columns, rows: cells }, warnings };
}
