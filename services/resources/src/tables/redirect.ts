import type { Renaming } from '../content/kind.js';
import { contentHashOf, type NewChunk } from './chunks.js';
import type { Cell, Column } from './column.js';
import { BETWEEN, decodeRow, encodeRow, shortHash } from './rows.js';

const refersToResources = ({ type }: Column): boolean => type === 'resource' || type === 'attachment';

/** Returns a column for a copy: what it names of the resources that are copied too becomes their copies. */
export function redirectColumn(column: Column, renamed: Renaming): Column {
  const target = renamed(column.options.target_table_id ?? '');
  const options = target === undefined ? column.options : { ...column.options, target_table_id: target };
  return {
    ...column,
    options,
    default: refersToResources(column) ? redirectCell(column.default, renamed) : column.default,
  };
}

/**
 * Creates a function that returns a chunk for a copy, with cells that refer to the copies of the resources that are
 * copied too. An id is replaced by one of the same length, so a chunk still ends at the same row.
 */
export function createChunkRedirect(columns: readonly Column[], renamed: Renaming): (chunk: NewChunk) => NewChunk {
  const slots = columns.filter(refersToResources).map(({ slot }) => slot);
  if (slots.length === 0) return (chunk) => chunk;
  return (chunk) => {
    const lines = chunk.text.split(BETWEEN).map((line) => redirectLine(line, slots, renamed));
    const text = lines.join(BETWEEN);
    return text === chunk.text ? chunk : { ...chunk, text, hash: shortHash(text), content: contentHashOf(lines) };
  };
}

function redirectLine(line: string, slots: readonly number[], renamed: Renaming): string {
  const row = decodeRow(line);
  const cells = [...row.cells];
  for (const slot of slots) cells[slot] = redirectCell(cells[slot] ?? null, renamed);
  return encodeRow({ ...row, cells });
}

function redirectCell(cell: Cell, renamed: Renaming): Cell {
  return Array.isArray(cell) ? cell.map((id) => renamed(String(id)) ?? id) : cell;
}
