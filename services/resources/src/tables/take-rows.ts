import type { Warning } from '../content/kind.js';
import { convertCell, isEmpty, sameCell, type Taking, takeCell } from './cells.js';
import { type Cell, type Column, isStored, isWritable } from './column.js';
import type { Faults } from './faults.js';
import { type ColumnPlan, choiceId } from './plan-columns.js';
import type { RowInput } from './row-input.js';
import type { Row } from './rows.js';

/** Makes the cells of rows out of what a request brings and what was there. */
export interface RowTaker {
  /**
   * The cells of a row. `merge`: what is not sent stays, as in an upsert; else it becomes empty, or the
   * default in a new row.
   */
  take(row: RowInput, old: Row | undefined, merge: boolean): Cell[];
  /** The value that a row brings for one column; null for none, and for what the column can't hold. */
  key(row: RowInput, column: Column): Cell;
  /** The cells of a row that nothing is sent for, in the columns as they are now. */
  convert(old: Row): Cell[];
  readonly nextNumbers: Readonly<Record<string, number>>;
  cleared(): number;
  warnings(): Warning[];
}

interface TakerParts {
  readonly plan: ColumnPlan;
  readonly typecast: boolean;
  readonly nextNumbers: Readonly<Record<string, number>>;
  readonly faults: Faults;
  /** What a read-only column shows in a row that is there. */
  readonly shown: (row: Row, columnId: string) => Cell;
  /** The number that a new row had where it comes from, by its place in the write. */
  readonly numberOf: (index: number, columnId: string) => number | undefined;
}

const MOST_NAMED = 10;

export function createRowTaker({ plan, typecast, nextNumbers, faults, shown, numberOf }: TakerParts): RowTaker {
  const numbers: Record<string, number> = { ...nextNumbers };
  const cleared = new Map<string, string[]>();
  const taking: Taking = {
    typecast,
    choice: (column, text) => choiceId(column, text) ?? (typecast ? plan.addChoice(column.id, text) : undefined),
  };
  // What is converted may need choices that were texts before.
  const converting: Taking = {
    typecast: true,
    choice: (column, text) => choiceId(column, text) ?? plan.addChoice(column.id, text),
  };
  const removedChoice: Taking = { ...converting, choice: choiceId };
  let lost = 0;

  /** The next number, or the one that a row had before. */
  function nextNumber({ slot }: Column, had?: number): number {
    const next = numbers[slot] ?? 1;
    const number = had ?? next;
    numbers[slot] = Math.max(next, number + 1);
    return number;
  }

  function converted(old: Row, cell: Cell, from: Column, to: Column): Cell {
    if (cell === null) return null;
    const taken = convertCell(cell, from, to, from.type === to.type ? removedChoice : converting);
    if ('cell' in taken) return taken.cell;
    lost++;
    const rows = cleared.get(to.id) ?? [];
    if (rows.length <= MOST_NAMED) rows.push(old.id);
    cleared.set(to.id, rows);
    return null;
  }

  /** What a row held for a column, as the column holds it now. */
  function kept(old: Row, column: Column): Cell {
    const from = plan.conversions.get(column.id);
    if (from !== undefined) return converted(old, old.cells[from.slot] ?? null, from, column);
    return old.cells[column.slot] ?? null;
  }

  function readOnly(row: RowInput, old: Row | undefined, column: Column): void {
    const given = row.cells.get(column.id) ?? null;
    if (given === null || (old !== undefined && sameCell(given, shown(old, column.id)))) return;
    faults.cell(row.index, column.id, `A cell of type ${column.type} can not be written.`);
  }

  /** Undefined where it was refused. */
  function taken(row: RowInput, old: Row | undefined, column: Column, merge: boolean): Cell | undefined {
    const given = row.cells.get(column.id);
    if (given === undefined) {
      if (old === undefined) return column.default;
      return merge ? kept(old, column) : null;
    }
    if (given === null) return null;
    const from = plan.conversions.get(column.id);
    if (from !== undefined && old !== undefined && sameCell(given, old.cells[from.slot] ?? null))
      return kept(old, column);
    const cell = takeCell(given, column, taking);
    if ('cell' in cell) return cell.cell;
    return faults.cell(row.index, column.id, `${column.name}: ${cell.message}`);
  }

  return {
    take(row, old, merge) {
      const cells: Cell[] = [];
      for (const column of plan.columns) {
        if (isWritable(column)) {
          const cell = taken(row, old, column, merge);
          if (column.required && cell !== undefined && isEmpty(cell))
            faults.cell(row.index, column.id, `${column.name} is required.`);
          cells[column.slot] = cell ?? null;
          continue;
        }
        readOnly(row, old, column);
        if (isStored(column))
          cells[column.slot] = old?.cells[column.slot] ?? nextNumber(column, numberOf(row.index, column.id));
      }
      return cells;
    },
    key(row, column) {
      const given = row.cells.get(column.id) ?? null;
      const cell = given === null ? { cell: null } : takeCell(given, column, taking);
      return 'cell' in cell ? cell.cell : null;
    },
    convert(old) {
      const cells: Cell[] = [];
      for (const column of plan.columns) {
        if (isWritable(column)) cells[column.slot] = kept(old, column);
        else if (isStored(column)) cells[column.slot] = old.cells[column.slot] ?? nextNumber(column);
      }
      return cells;
    },
    nextNumbers: numbers,
    cleared: () => lost,
    warnings: () =>
      [...cleared].map(([columnId, rows]) => {
        const { name = columnId, type } = plan.columns.find(({ id }) => id === columnId) ?? {};
        const named = rows.slice(0, MOST_NAMED).join(', ');
        const more = rows.length > MOST_NAMED ? ' and others' : '';
        const message = `Values of ${name} could not become ${type} and were emptied, in the rows ${named}${more}.`;
        return { code: 'cells_emptied', message };
      }),
  };
}
