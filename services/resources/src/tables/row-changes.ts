import type { RowChange } from '../domain/row-change.js';
import { isEmpty, sameCell } from './cells.js';
import { type Cell, type Column, isStored } from './column.js';
import type { Row } from './rows.js';

/**
 * Maximum number of rows of one write that events report one by one. A write that changes more rows is reported only as a
 * change of the content.
 */
export const MAX_REPORTED_ROWS = 10_000;
/**
 * Maximum number of distinct sets of changed columns in one write. Rows with further sets share the union of these
 * sets.
 */
const MAX_COLUMN_SETS = 20;

/** Collects the rows that a write creates, changes and deletes. */
export class RowChanges {
  private readonly groups = new Map<string, { verb: RowChange['verb']; columns: Set<string>; ids: string[] }>();
  private count = 0;
  private readonly columns: readonly Column[];

  constructor(columns: readonly Column[]) {
    this.columns = columns.filter(isStored);
  }

  /** Records a row after a write. `old` is the row before the write, and the same object if no cell has changed. */
  write(row: Row, old: Row | undefined): void {
    if (row === old || ++this.count > MAX_REPORTED_ROWS) return;
    const differs = ({ slot }: Column): boolean => {
      const cell: Cell = row.cells[slot] ?? null;
      return old === undefined ? !isEmpty(cell) : !sameCell(old.cells[slot] ?? null, cell);
    };
    const ids = this.columns.filter(differs).map(({ id }) => id);
    if (old === undefined) this.add('row.created', row.id, ids);
    else if (ids.length > 0) this.add('row.updated', row.id, ids);
  }

  delete(id: string): void {
    if (++this.count <= MAX_REPORTED_ROWS) this.add('row.deleted', id, []);
  }

  /** Returns the changes; none if there are too many. */
  all(): readonly RowChange[] {
    if (this.count > MAX_REPORTED_ROWS) return [];
    return [...this.groups.values()].map(({ verb, columns, ids }) => ({ verb, rowIds: ids, columnIds: [...columns] }));
  }

  private add(verb: RowChange['verb'], rowId: string, columnIds: readonly string[]): void {
    const own = `${verb} ${columnIds.join(' ')}`;
    const key = this.groups.has(own) || this.groups.size < MAX_COLUMN_SETS ? own : verb;
    const group = this.groups.get(key) ?? { verb, columns: new Set(), ids: [] };
    this.groups.set(key, group);
    for (const id of columnIds) group.columns.add(id);
    group.ids.push(rowId);
  }
}
