import type { Diff } from '../content/kind.js';
import { sameCell } from './cells.js';
import { type Cell, type Column, isStored, shownColumn } from './column.js';
import { entriesOf } from './records.js';
import { decodeRows, type Row } from './rows.js';
import { createBreathe } from './slices.js';
import type { TableStates } from './state.js';
import type { Head } from './write.js';

/** Maximum number of rows that a comparison lists; all changes are counted. */
const MAX_LISTED_ROWS = 200;

interface RowChange {
  readonly id: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Cells of the row in each state; if both states have the row, only the cells that differ. */
  readonly before: Record<string, Cell> | null;
  readonly after: Record<string, Cell> | null;
}

/** Compares two states of a table. Chunks that both have are not read. */
export async function diffTables(tableId: string, from: Head, to: Head, states: TableStates): Promise<Diff> {
  const before = await rowsNotIn(tableId, from, to, states);
  const after = await rowsNotIn(tableId, to, from, states);
  const changes: RowChange[] = [];
  const counts = { added: 0, removed: 0, changed: 0 };
  const note = (change: RowChange): void => {
    counts[change.change]++;
    if (changes.length < MAX_LISTED_ROWS) changes.push(change);
  };
  for (const [id, row] of after) {
    const old = before.get(id);
    if (old === undefined) note({ id, change: 'added', before: null, after: cellsOf(row, to.columns) });
    else {
      const [mine, theirs] = differing(cellsOf(old, from.columns), cellsOf(row, to.columns));
      if (Object.keys(theirs).length > 0) note({ id, change: 'changed', before: mine, after: theirs });
    }
  }
  for (const [id, row] of before) {
    if (!after.has(id)) note({ id, change: 'removed', before: cellsOf(row, from.columns), after: null });
  }
  return {
    ...counts,
    unified: undefined,
    columns: Buffer.from(JSON.stringify(columnChanges(from, to))),
    rows: Buffer.from(JSON.stringify(changes)),
    truncated: counts.added + counts.removed + counts.changed > changes.length,
  };
}

async function rowsNotIn(tableId: string, head: Head, other: Head, states: TableStates): Promise<Map<string, Row>> {
  const shared = new Set(other.chunks.map(([number]) => number));
  const breathe = createBreathe();
  const rows = new Map<string, Row>();
  const entries = entriesOf(head);
  for (const [i, { number }] of entries.entries()) {
    if (shared.has(number)) continue;
    for (const row of decodeRows(await states.text(tableId, entries, i, breathe))) rows.set(row.id, row);
    await breathe();
  }
  return rows;
}

function cellsOf({ cells }: Row, columns: readonly Column[]): Record<string, Cell> {
  return Object.fromEntries(columns.filter(isStored).map(({ id, slot }) => [id, cells[slot] ?? null]));
}

function differing(before: Record<string, Cell>, after: Record<string, Cell>) {
  const ids = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = ids.filter((id) => !sameCell(before[id] ?? null, after[id] ?? null));
  const pick = (cells: Record<string, Cell>) => Object.fromEntries(changed.map((id) => [id, cells[id] ?? null]));
  return [pick(before), pick(after)] as const;
}

function columnChanges(from: Head, to: Head): unknown[] {
  const shown = ({ columns, primary }: Head) =>
    new Map(columns.map((column) => [column.id, shownColumn(column, primary)]));
  const [before, after] = [shown(from), shown(to)];
  const changes: unknown[] = [];
  for (const [id, column] of after) {
    const old = before.get(id);
    if (old === undefined) changes.push({ id, change: 'added', before: null, after: column });
    else if (JSON.stringify(old) !== JSON.stringify(column))
      changes.push({ id, change: 'changed', before: old, after: column });
  }
  for (const [id, column] of before)
    if (!after.has(id)) changes.push({ id, change: 'removed', before: column, after: null });
  return changes;
}
