import { BETWEEN, contentOf, encodeRow, type Row, shortHash } from './rows.js';

/**
 * A table stores its rows in order, in chunks. Only the rows determine where a chunk ends, so that equal rows produce
 * equal chunks, and a change moves only its own chunk's boundaries. A chunk ends after a row whose id's hash selects
 * it, which one in 256 does, or when it has become large.
 */
const ENDS_ONE_IN = 256;
const MAX_ROWS = 1024;
const MAX_CHARS = 512 * 1024;

/** A chunk as the head of a table lists it. */
export interface ChunkEntry {
  /** Number of the chunk, never reused; its record's id is `<table>.<number>`. */
  readonly number: number;
  readonly rows: number;
  readonly bytes: number;
  /** Hash of its text. */
  readonly hash: string;
  /** Hash of the contents of its rows, without who wrote them and when. */
  readonly content: string;
}

/** A chunk that is not stored yet. */
export interface NewChunk extends Omit<ChunkEntry, 'number'> {
  readonly text: string;
  /** Whether rows appended later join this chunk. */
  readonly open: boolean;
}

/** Maximum number of parts of an open chunk; one more merges them into one. */
const MAX_PARTS = 8;

/**
 * Returns appended rows as one more part of an open chunk, so that appending a few rows writes only those rows. Returns
 * undefined if the chunk would end within them, or has too many parts already. Rows that cannot be a part are not encoded.
 */
export function partOf(parts: readonly ChunkEntry[], added: readonly Row[]): NewChunk | undefined {
  if (parts.length === 0 || parts.length >= MAX_PARTS) return undefined;
  const rows = parts.reduce((sum, part) => sum + part.rows, added.length);
  if (rows >= MAX_ROWS || added.some(({ id }) => endsChunk(id))) return undefined;
  // The number of bytes is an upper bound for the number of characters.
  const before = parts.reduce((sum, part) => sum + part.bytes, 0);
  const lines: string[] = [];
  let chars = before;
  for (const row of added) {
    const line = encodeRow(row);
    chars += line.length + BETWEEN.length;
    if (chars >= MAX_CHARS + BETWEEN.length) return undefined;
    lines.push(line);
  }
  const text = lines.join(BETWEEN);
  const size = Buffer.byteLength(text) + BETWEEN.length;
  if (before + size >= MAX_CHARS) return undefined;
  return { text, rows: lines.length, bytes: size, hash: shortHash(text), content: contentHashOf(lines), open: true };
}

/** Returns the hash of a chunk's contents: its rows without who wrote them and when. */
export const contentHashOf = (lines: readonly string[]): string => shortHash(lines.map(contentOf).join('\n'));

/** Groups lines of rows into chunks. */
interface Chunker {
  /** Adds a row. Returns the chunk that the row completes, if any. */
  push(id: string, line: string): NewChunk | undefined;
  /** Returns the rows that are left as the last, open chunk. */
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

/**
 * Returns whether a chunk ends after the row. Hashes the id with FNV-1a over UTF-16 units, and mixes the result so that
 * sequential ids spread too.
 */
function endsChunk(id: string): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return (hash >>> 0) % ENDS_ONE_IN === 0;
}
