import { BETWEEN, contentOf, idOf, shortHash } from './rows.js';

/**
 * Rows lie in chunks, in their order. Where a chunk ends is told by the rows alone, so that equal rows
 * lie in equal chunks, and a change moves no boundary but its own: a chunk ends behind a row whose id's
 * hash says so, one in 256 does, or when it has become large.
 */
const ENDS_ONE_IN = 256;
const MAX_ROWS = 1024;
const MAX_CHARS = 512 * 1024;

/** A chunk as a table's head lists it. */
export interface ChunkEntry {
  /** Its record is `<table>.<number>`; numbers are not used twice. */
  readonly number: number;
  readonly rows: number;
  readonly bytes: number;
  /** Hash of its text. */
  readonly hash: string;
  /** Hash of what its rows hold, without who and when. */
  readonly content: string;
}

/** A chunk that is not stored yet. */
export interface NewChunk extends Omit<ChunkEntry, 'number'> {
  readonly text: string;
  /** Rows that come behind it join it. */
  readonly open: boolean;
}

/** Parts of an open chunk; with one more they become one again. */
export const MOST_PARTS = 8;

/**
 * Rows that join an open chunk, as a part of their own beside the parts that it has: so a few rows at the end write no
 * more than themselves. Undefined where the chunk would end with them, or has parts enough.
 */
export function partOf(parts: readonly ChunkEntry[], lines: readonly string[]): NewChunk | undefined {
  if (parts.length === 0 || parts.length >= MOST_PARTS || lines.some((line) => endsChunk(idOf(line)))) return undefined;
  const text = lines.join(BETWEEN);
  const size = Buffer.byteLength(text) + BETWEEN.length;
  const rows = parts.reduce((sum, part) => sum + part.rows, lines.length);
  // There are no more characters than bytes.
  const bytes = parts.reduce((sum, part) => sum + part.bytes, size);
  if (rows >= MAX_ROWS || bytes >= MAX_CHARS) return undefined;
  return { text, rows: lines.length, bytes: size, hash: shortHash(text), content: contentHashOf(lines), open: true };
}

/** What tells the contents of a chunk apart: its rows without who and when. */
export const contentHashOf = (lines: readonly string[]): string => shortHash(lines.map(contentOf).join('\n'));

/** Gathers the lines of rows into chunks. */
export interface Chunker {
  /** The chunk that this row completes, where it does. */
  push(id: string, line: string): NewChunk | undefined;
  /** What is left at the end. */
  flush(): NewChunk | undefined;
  isEmpty(): boolean;
}

export function createChunker(): Chunker {
  let lines: string[] = [];
  let chars = 0;
  function take(open: boolean): NewChunk | undefined {
    if (lines.length === 0) return undefined;
    const text = lines.join(BETWEEN);
    const content = contentHashOf(lines);
    const chunk = { text, rows: lines.length, bytes: Buffer.byteLength(text), hash: shortHash(text), content, open };
    lines = [];
    chars = 0;
    return chunk;
  }
  return {
    push(id, line) {
      lines.push(line);
      chars += line.length;
      return endsChunk(id) || lines.length >= MAX_ROWS || chars >= MAX_CHARS ? take(false) : undefined;
    },
    flush: () => take(true),
    isEmpty: () => lines.length === 0,
  };
}

/** FNV-1a over the id's UTF-16 units, mixed so that ids that count up are spread too. */
function endsChunk(id: string): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return (hash >>> 0) % ENDS_ONE_IN === 0;
}
