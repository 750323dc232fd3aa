import { type Column, findColumn } from './column.js';
import { redirectFormula } from './formula.js';
import { MAX_EXPRESSION } from './limits.js';

/**
 * Returns the columns with formulas that follow renamed ones: a formula that a write leaves as it was refers to columns
 * by their new names. One that becomes too long stays as it is.
 */
export function followRenames(columns: readonly Column[], old: readonly Column[]): readonly Column[] {
  const renamed = renamedColumns(columns, old);
  if (renamed.size === 0) return columns;
  return columns.map((column) => {
    const { expression } = column.options;
    const before = old.find(({ id }) => id === column.id);
    if (column.type !== 'formula' || expression === undefined || before?.options.expression !== expression)
      return column;
    const followed = redirectFormula(expression, (reference) => renamed.get(reference));
    if (followed.length > MAX_EXPRESSION) return column;
    return { ...column, options: { ...column.options, expression: followed } };
  });
}

/**
 * Returns how to refer to columns whose names no longer refer to them alone, by these names: by the new name where that
 * is possible, else by the id.
 */
function renamedColumns(columns: readonly Column[], old: readonly Column[]): Map<string, string> {
  const renamed = new Map<string, string>();
  for (const { id, name } of columns) {
    const before = old.find((column) => column.id === id);
    if (before === undefined || findColumn(old, before.name)?.id !== id) continue;
    if (findColumn(columns, before.name)?.id === id) continue;
    const isClear = !/[{}]/.test(name) && findColumn(columns, name)?.id === id;
    renamed.set(before.name, isClear ? name : id);
  }
  return renamed;
}
