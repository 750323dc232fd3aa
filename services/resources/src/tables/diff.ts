import type { Diff } from '../content/kind.js';
import { sameCell } from './cells.js';
import { type Cell, type Column, isStored, shownColumn } from './column.js';
import { entriesOf } from './records.js';
import { BETWEEN, contentOf, decodeRow, idOf } from './rows.js';
import type { Breathe } from './slices.js';
import type { TableStates } from './state.js';
import type { Head } from './write.js';

/** Maximum number of rows that a comparison lists; all changes are counted. */
const MAX_LISTED_ROWS = 200;
/** Bytes of listed rows after which no further one is listed. */
const MAX_LISTED_BYTES = 2 * 1024 * 1024;

interface RowChange {
  readonly id: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Cells of the row in each state; if both states have the row, only the cells that differ. */
  readonly before: Record<string, Cell> | null;
  readonly after: Record<string, Cell> | null;
}

/** Compares two states of a table. Chunks that both have are not read, and only rows that differ are decoded. */
export async function diffTables(
  tableId: string,
  from: Head,
  to: Head,
  states: TableStates,
  breathe: Breathe,
): Promise<Diff> {
  const before = await linesNotIn(tableId, from, to, states, breathe);
  const after = await linesNotIn(tableId, to, from, states, breathe);
  const [mine, theirs] = [from.columns.filter(isStored), to.columns.filter(isStored)];
  const isSameStored = slotsOf(mine) === slotsOf(theirs);
  const listed = createListed();
  for (const [id, line] of after) {
    const old = before.get(id);
    if (old === undefined) listed.note('added', () => ({ id, before: null, after: cellsOf(line, theirs) }));
    else if (!isSameStored || contentOf(old) !== contentOf(line)) {
      const [was, is] = differing(cellsOf(old, mine), cellsOf(line, theirs));
      if (Object.keys(is).length > 0) listed.note('changed', () => ({ id, before: was, after: is }));
    }
    await breathe();
  }
  for (const [id, line] of before) {
    if (!after.has(id)) listed.note('removed', () => ({ id, before: cellsOf(line, mine), after: null }));
    await breathe();
  }
  const { counts, rows, isCut } = listed;
  return {
    ...counts,
    unified: undefined,
    columns: Buffer.from(JSON.stringify(columnChanges(from, to))),
    rows: Buffer.from(`[${rows.join()}]`),
    truncated: isCut(),
  };
}

/** Counts changes, and lists the first of them as JSON. */
function createListed() {
  const counts = { added: 0, removed: 0, changed: 0 };
  const rows: string[] = [];
  let bytes = 0;
  return {
    counts,
    rows,
    isCut: () => counts.added + counts.removed + counts.changed > rows.length,
    note(change: RowChange['change'], row: () => Omit<RowChange, 'change'>): void {
      counts[change]++;
      if (rows.length === MAX_LISTED_ROWS || bytes > MAX_LISTED_BYTES) return;
      const { id, ...cells } = row();
      const text = JSON.stringify({ id, change, ...cells } satisfies RowChange);
      bytes += text.length;
      rows.push(text);
    },
  };
}

/** Returns the lines of the rows in the chunks that only this state has, by row id. */
async function linesNotIn(
  tableId: string,
  head: Head,
  other: Head,
  states: TableStates,
  breathe: Breathe,
): Promise<Map<string, string>> {
  const shared = new Set(other.chunks.map(([number]) => number));
  const lines = new Map<string, string>();
  const entries = entriesOf(head);
  for (const [i, { number }] of entries.entries()) {
    if (shared.has(number)) continue;
    for (const line of (await states.text(tableId, entries, i, breathe)).split(BETWEEN)) {
      lines.set(idOf(line), line);
      await breathe();
    }
  }
  return lines;
}

const slotsOf = (columns: readonly Column[]): string =>
  columns
    .map(({ id, slot }) => `${id} ${slot}`)
    .sort()
    .join();

function cellsOf(line: string, columns: readonly Column[]): Record<string, Cell> {
  const { cells } = decodeRow(line);
  return Object.fromEntries(columns.map(({ id, slot }) => [id, cells[slot] ?? null]));
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
