import { type Column, createFindColumn } from './column.js';
import { redirectFormula } from './formula.js';
import { MAX_EXPRESSION } from './limits.js';
import type { Breathe } from './slices.js';

/**
 * Returns the columns with formulas that follow renamed ones: a formula that a write leaves as it was refers to columns
 * by their new names. One that becomes too long stays as it is.
 */
export async function followRenames(
  columns: readonly Column[],
  old: readonly Column[],
  breathe: Breathe,
): Promise<readonly Column[]> {
  const renamed = renamedColumns(columns, old);
  if (renamed.size === 0) return columns;
  const before = new Map(old.map((column) => [column.id, column]));
  const following: Column[] = [];
  for (const column of columns) {
    following.push(followed(column, before.get(column.id), renamed));
    await breathe();
  }
  return following;
}

function followed(column: Column, before: Column | undefined, renamed: ReadonlyMap<string, string>): Column {
  const { expression } = column.options;
  if (column.type !== 'formula' || expression === undefined || before?.options.expression !== expression) return column;
  const redirected = redirectFormula(expression, (reference) => renamed.get(reference));
  if (redirected.length > MAX_EXPRESSION) return column;
  return { ...column, options: { ...column.options, expression: redirected } };
}

/**
 * Returns how to refer to columns whose names no longer refer to them alone, by these names: by the new name where that
 * is possible, else by the id.
 */
function renamedColumns(columns: readonly Column[], old: readonly Column[]): Map<string, string> {
  const renamed = new Map<string, string>();
  const [findOld, findNew] = [createFindColumn(old), createFindColumn(columns)];
  const byId = new Map(old.map((column) => [column.id, column]));
  for (const { id, name } of columns) {
    const before = byId.get(id);
    if (before === undefined || findOld(before.name)?.id !== id) continue;
    if (findNew(before.name)?.id === id) continue;
    const isClear = !/[{}]/.test(name) && findNew(name)?.id === id;
    renamed.set(before.name, isClear ? name : id);
  }
  return renamed;
}
