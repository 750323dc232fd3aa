import { BETWEEN, contentOf, shortHash } from './rows.js';

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
}

/** Gathers the lines of rows into chunks. */
export interface Chunker {
  /** The chunk that this row completes, where it does. */
  push(id: string, line: string): NewChunk | undefined;
  /** What is left at the end. */
  flush(): NewChunk | undefined;
  readonly empty: boolean;
}

export function createChunker(): Chunker {
  let lines: string[] = [];
  let chars = 0;
  function flush(): NewChunk | undefined {
    if (lines.length === 0) return undefined;
    const text = lines.join(BETWEEN);
    const content = shortHash(lines.map(contentOf).join('\n'));
    const chunk = { text, rows: lines.length, bytes: Buffer.byteLength(text), hash: shortHash(text), content };
    lines = [];
    chars = 0;
    return chunk;
  }
  return {
    push(id, line) {
      lines.push(line);
      chars += line.length;
      return endsChunk(id) || lines.length >= MAX_ROWS || chars >= MAX_CHARS ? flush() : undefined;
    },
    flush,
    get empty() {
      return lines.length === 0;
    },
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
