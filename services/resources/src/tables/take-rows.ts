import type { Warning } from '../content/kind.js';
import { type ConversionTerms, convertCell, isEmpty, sameCell, takeCell } from './cells.js';
import { choiceId } from './choices.js';
import { type Cell, type Column, isStored, isWritable } from './column.js';
import type { Faults } from './faults.js';
import { isCellError } from './formula.js';
import type { ColumnPlan } from './plan-columns.js';
import type { RowInput } from './row-input.js';
import type { Row } from './rows.js';

/** Computes the cells of rows from a request and from the existing rows. */
export interface RowTaker {
  /**
   * Returns the cells of a row. With `merge`, cells that are not sent stay, as in an upsert; otherwise they become
   * empty, or get the default in a new row.
   */
  take(row: RowInput, old: Row | undefined, merge: boolean): Cell[];
  /** Returns a row's value for the column at an index; null if it has none or the column cannot hold it. */
  key(row: RowInput, at: number): Cell;
  /** Returns the cells of a row that is not sent, converted to the current columns. */
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
  /** Returns the current value of a column in an existing row, if it is or was read-only. */
  readonly shown: (row: Row, columnId: string) => Cell;
  /** Returns the number that a row had in its source, by index in the write; undefined if it had none. */
  readonly numberOf: (index: number, columnId: string) => number | undefined;
}

const MAX_NAMED_ROWS = 10;

export function createRowTaker({ plan, typecast, nextNumbers, faults, shown, numberOf }: TakerParts): RowTaker {
  const numbers: Record<string, number> = { ...nextNumbers };
  const cleared = new Map<string, string[]>();
  const taking: ConversionTerms = {
    typecast,
    choice: (column, text) => choiceId(column, text) ?? (typecast ? plan.addChoice(column.id, text) : undefined),
  };
  // Converting texts to a select column may create choices.
  const converting: ConversionTerms = {
    typecast: true,
    choice: (column, text) => choiceId(column, text) ?? plan.addChoice(column.id, text),
  };
  const removedChoice: ConversionTerms = { ...converting, choice: choiceId };
  let lost = 0;

  /** Returns the next number, or the one that the row brings, and advances the counter past it. */
  function nextNumber({ slot }: Column, had?: number): number {
    const next = numbers[slot] ?? 1;
    const number = had ?? next;
    numbers[slot] = Math.max(next, number + 1);
    return number;
  }

  /** Returns an existing row's value in the column that a column of the plan replaces. */
  function formerValue(old: Row, from: Column): Cell {
    return isStored(from) ? (old.cells[from.slot] ?? null) : shown(old, from.id);
  }

  function converted(old: Row, cell: Cell, from: Column, to: Column): Cell {
    if (cell === null) return null;
    const taken = isCellError(cell)
      ? undefined
      : convertCell(cell, from, to, from.type === to.type ? removedChoice : converting);
    if (taken !== undefined && 'cell' in taken) return taken.cell;
    noteCleared(old, to);
    return null;
  }

  function noteCleared(old: Row, { id }: Column): void {
    lost++;
    const rows = cleared.get(id) ?? [];
    if (rows.length <= MAX_NAMED_ROWS) rows.push(old.id);
    cleared.set(id, rows);
  }

  /** Notes the stored value that an existing row loses to a read-only column. */
  function noteReplaced(old: Row | undefined, column: Column): void {
    const from = plan.conversions.get(column.id);
    if (old !== undefined && from !== undefined && !isEmpty(formerValue(old, from))) noteCleared(old, column);
  }

  /** Returns an existing row's value for a column, converted to the column's current type. */
  function kept(old: Row, column: Column): Cell {
    const from = plan.conversions.get(column.id);
    if (from !== undefined) return converted(old, formerValue(old, from), from, column);
    return old.cells[column.slot] ?? null;
  }

  function readOnly(row: RowInput, old: Row | undefined, column: Column, at: number): void {
    const given = row.cells[at] ?? null;
    if (given === null || (old !== undefined && sameCell(given, shown(old, column.id)))) return;
    faults.cell(row.index, column.id, `A cell of type ${column.type} cannot be written.`);
  }

  /** Returns the new value of a cell; undefined if it was refused. */
  function taken(row: RowInput, old: Row | undefined, column: Column, at: number, merge: boolean): Cell | undefined {
    const given = row.cells[at];
    if (given === undefined) {
      if (old === undefined) return column.default;
      return merge ? kept(old, column) : null;
    }
    if (given === null) return null;
    const from = plan.conversions.get(column.id);
    if (from !== undefined && old !== undefined && sameCell(given, formerValue(old, from))) return kept(old, column);
    const cell = takeCell(given, column, taking);
    if ('cell' in cell) return cell.cell;
    return faults.cell(row.index, column.id, `${column.name}: ${cell.message}`);
  }

  return {
    take(row, old, merge) {
      const cells = new Array<Cell>(plan.nextSlot);
      for (let at = 0; at < plan.columns.length; at++) {
        const column = plan.columns[at] as Column;
        if (isWritable(column)) {
          const cell = taken(row, old, column, at, merge);
          if (column.required && cell !== undefined && isEmpty(cell))
            faults.cell(row.index, column.id, `${column.name} is required.`);
          cells[column.slot] = cell ?? null;
          continue;
        }
        readOnly(row, old, column, at);
        noteReplaced(old, column);
        if (isStored(column))
          cells[column.slot] = old?.cells[column.slot] ?? nextNumber(column, numberOf(row.index, column.id));
      }
      return cells;
    },
    key(row, at) {
      const given = row.cells[at] ?? null;
      const cell = given === null ? { cell: null } : takeCell(given, plan.columns[at] as Column, taking);
      return 'cell' in cell ? cell.cell : null;
    },
    convert(old) {
      const cells: Cell[] = [];
      for (const column of plan.columns) {
        if (isWritable(column)) {
          cells[column.slot] = kept(old, column);
          continue;
        }
        noteReplaced(old, column);
        if (isStored(column)) cells[column.slot] = old.cells[column.slot] ?? nextNumber(column);
      }
      return cells;
    },
    nextNumbers: numbers,
    cleared: () => lost,
    warnings: () =>
      [...cleared].map(([columnId, rows]) => {
        const { name = columnId, type } = plan.columns.find(({ id }) => id === columnId) ?? {};
        const named = rows.slice(0, MAX_NAMED_ROWS).join(', ');
        const more = rows.length > MAX_NAMED_ROWS ? ' and others' : '';
        const message = `Values of ${name} could not be converted to ${type} and were emptied, in the rows ${named}${more}.`;
        return { code: 'cells_emptied', message };
      }),
  };
}
