import type { Actor } from '@commonplace/kit/auth';
import { displayText } from './cells.js';
import { type Cell, type Column, isTime } from './column.js';

/** Returns a stored value in the API's form, with people by id and times as text. */
export function shownCell(cell: Cell, { type }: Column, people: readonly Actor[]): Cell {
  if (cell === null) return null;
  if (type === 'created_by' || type === 'updated_by') return people[Number(cell)]?.id ?? null;
  return isTime(type) && typeof cell === 'number' ? new Date(cell).toISOString() : cell;
}

/** Returns a function that finds the name of a person in a table's list by id. */
export function nameIn(people: readonly Actor[]): (id: string) => string | undefined {
  const names = new Map(people.map(({ id, name }) => [id, name]));
  return (id) => names.get(id);
}

/** Returns a value from the API's form as people read it. */
export function displayedCell(cell: Cell, column: Column, nameOf: (id: string) => string | undefined): Cell {
  return cell === null ? null : displayText(cell, column, nameOf);
}
