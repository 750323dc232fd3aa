import { createHash } from 'node:crypto';
import type { Cell } from './column.js';

/** A row as it is stored; who and when are kept small, since every row has them. */
export interface Row {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Place in the table's list of people. */
  readonly createdBy: number;
  readonly updatedAt: number;
  readonly updatedBy: number;
  /** By the slots of the columns; what is missing at the end is empty. */
  readonly cells: readonly Cell[];
}

type Packed = [string, number, number, number, number, Cell[]];

/** A row as one line of JSON. */
export function encodeRow(row: Row): string {
  let length = row.cells.length;
  while (length > 0 && (row.cells[length - 1] ?? null) === null) length--;
  const cells = Array.from({ length }, (_, slot) => row.cells[slot] ?? null);
  return JSON.stringify([row.id, row.createdAt, row.createdBy, row.updatedAt, row.updatedBy, cells] satisfies Packed);
}

export function decodeRow(line: string): Row {
  return unpack(JSON.parse(line) as Packed);
}

/** Between the lines of a chunk, which is the inside of a JSON array. A line has no line break within. */
export const BETWEEN = ',\n';

/** All rows of a chunk's text. */
export function decodeRows(text: string): Row[] {
  return (JSON.parse(`[${text}]`) as Packed[]).map(unpack);
}

function unpack([id, createdAt, createdBy, updatedAt, updatedBy, cells]: Packed): Row {
  return { id, createdAt, createdBy, updatedAt, updatedBy, cells };
}

/** The part of a row's line that is content: its id and its cells, without who and when. */
export function contentOf(line: string): string {
  const idEnd = line.indexOf('",');
  return line.slice(0, idEnd + 1) + line.slice(line.indexOf(',[', idEnd));
}

/** The id of a row's line: the first text in it, which has no quotation mark of its own. */
export const idOf = (line: string): string => line.slice(2, line.indexOf('"', 2));

/** A short hash, good enough to tell one table's chunks apart. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 20);
}
