import { stems } from './passage.js';

export interface TableRow {
  readonly id: string;
  /** Pairs of a column's name and the row's value as text; empty cells are left out. */
  readonly cells: readonly (readonly [name: string, value: string])[];
}

/** Returns the rows of a table's content with their cells as texts. */
export function rowsOf({ columns, rows }: { readonly columns: Buffer; readonly rows: Buffer }): TableRow[] {
  const names = JSON.parse(columns.toString()) as { readonly id: string; readonly name: string }[];
  const records = JSON.parse(rows.toString() || '[]') as {
    readonly id: string;
    readonly cells: Record<string, unknown>;
  }[];
  return records.map(({ id, cells }) => ({
    id,
    cells: names
      .map(({ id: column, name }) => [name, cellText(cells[column])] as const)
      .filter(([, value]) => value !== ''),
  }));
}

export function lineOf({ cells }: TableRow): string {
  return cells.map(([name, value]) => `${name}: ${value}`).join('; ');
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(cellText).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * Returns the row that contains the most words of a question, and its cell that contains the most; undefined if there
 * are no rows.
 */
export function bestCell(
  rows: readonly TableRow[],
  question: string,
): { readonly row: TableRow; readonly value: string } | undefined {
  const words = stems(question);
  const score = (text: string) => [...stems(text)].filter((word) => words.has(word)).length;
  const best = <T>(items: readonly T[], of: (item: T) => number): T | undefined =>
    items.reduce<T | undefined>((top, item) => (top === undefined || of(item) > of(top) ? item : top), undefined);
  const row = best(
    rows.filter(({ cells }) => cells.length > 0),
    (one) => score(lineOf(one)),
  );
  const cell = row && best(row.cells, ([, value]) => score(value) + Math.min(value.length, 500) / 1000);
  return row && cell && { row, value: cell[1] };
}
