import { createHash } from 'node:crypto';
import type { Cell } from './column.js';

/** A stored row. Authors and times are numbers to save space, since every row has them. */
export interface Row {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Index in the table's list of people. */
  readonly createdBy: number;
  readonly updatedAt: number;
  readonly updatedBy: number;
  /** Cells by slot; missing ones at the end are empty. */
  readonly cells: readonly Cell[];
}

type PackedRow = [string, number, number, number, number, Cell[]];

/** Encodes a row as one line of JSON. */
export function encodeRow(row: Row): string {
  let length = row.cells.length;
  while (length > 0 && (row.cells[length - 1] ?? null) === null) length--;
  const cells = Array.from({ length }, (_, slot) => row.cells[slot] ?? null);
  return JSON.stringify([
    row.id,
    row.createdAt,
    row.createdBy,
    row.updatedAt,
    row.updatedBy,
    cells,
  ] satisfies PackedRow);
}

export function decodeRow(line: string): Row {
  return unpack(JSON.parse(line) as PackedRow);
}

/** Separates the lines of a chunk, which are elements of a JSON array. An encoded row contains no line break. */
export const BETWEEN = ',\n';

/** Decodes all rows of a chunk's text. */
export function decodeRows(text: string): Row[] {
  return (JSON.parse(`[${text}]`) as PackedRow[]).map(unpack);
}

function unpack([id, createdAt, createdBy, updatedAt, updatedBy, cells]: PackedRow): Row {
  return { id, createdAt, createdBy, updatedAt, updatedBy, cells };
}

/** Returns the content of a row's line: its id and cells, without authors and times. */
export function contentOf(line: string): string {
  const idEnd = line.indexOf('",');
  return line.slice(0, idEnd + 1) + line.slice(line.indexOf(',[', idEnd));
}

/** Returns the id in a row's line: the first string, which contains no quotation mark. */
export const idOf = (line: string): string => line.slice(2, line.indexOf('"', 2));

/** Returns a short hash that distinguishes the chunks of one table. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 20);
}
