import { type ChunkEntry, createChunker, type NewChunk } from './chunks.js';
import { BETWEEN, decodeRow, encodeRow, type Row } from './rows.js';
import type { Breathe } from './slices.js';

/** What happens to the rows of a table, by their numbers in it. */
export interface Edits {
  /** `all`: none of the old rows stays in its place. */
  readonly removed: 'all' | ReadonlySet<number>;
  readonly changed: ReadonlyMap<number, Row>;
  /** Rows that come to stand before a row; the table's number of rows stands for its end. In their order. */
  readonly inserted: ReadonlyMap<number, readonly Row[]>;
  /** What has to be done to every row that stays and is not changed. */
  readonly convert?: ((row: Row) => Row) | undefined;
}

/** The chunks of a table, those that it had by their entries. */
export type Piece = ChunkEntry | NewChunk;

export const isNew = (piece: Piece): piece is NewChunk => 'text' in piece;

/** Which of a table's chunks have to be read to make these edits: numbers of chunks, by their first rows. */
export function touchedChunks(
  entries: readonly ChunkEntry[],
  { removed, changed, inserted, convert }: Edits,
): boolean[] {
  if (removed === 'all') return entries.map(() => false);
  if (convert !== undefined) return entries.map(() => true);
  const rows = [...removed, ...changed.keys(), ...inserted.keys()].sort((a, b) => a - b);
  let next = 0;
  let end = 0;
  const touched = entries.map(({ rows: count }) => {
    end += count;
    const from = next;
    while (next < rows.length && (rows[next] as number) < end) next++;
    return next > from;
  });
  // What comes to the end joins the last chunk.
  if (next < rows.length && touched.length > 0) touched[touched.length - 1] = true;
  return touched;
}

/**
 * Makes the chunks that a table has after some edits. A chunk that nothing happens to is not looked
 * at, unless the one before it now ends elsewhere; one that comes out as an old one was stays that.
 */
export async function rebuild(
  entries: readonly ChunkEntry[],
  edits: Edits,
  read: (chunk: number) => Promise<string>,
  breathe: Breathe,
): Promise<Piece[]> {
  const touched = touchedChunks(entries, edits);
  const known = new Map(entries.map((entry) => [entry.hash, entry]));
  const pieces: Piece[] = [];
  const chunker = createChunker();
  const put = (chunk: NewChunk | undefined): void => {
    if (chunk === undefined) return;
    const same = known.get(chunk.hash);
    known.delete(chunk.hash);
    pieces.push(same ?? chunk);
  };
  const insert = async (rows: readonly Row[] | undefined): Promise<void> => {
    for (const row of rows ?? []) {
      put(chunker.push(row.id, encodeRow(row)));
      await breathe();
    }
  };

  let at = 0;
  if (edits.removed === 'all') at = entries.reduce((sum, { rows }) => sum + rows, 0);
  else {
    for (const [i, entry] of entries.entries()) {
      if (touched[i] !== true && chunker.empty) {
        pieces.push(entry);
        known.delete(entry.hash);
        at += entry.rows;
        continue;
      }
      for (const line of (await read(i)).split(BETWEEN)) {
        await insert(edits.inserted.get(at));
        const edited = editedLine(line, at, edits);
        if (edited !== undefined) put(chunker.push(idOf(edited), edited));
        at++;
      }
      await breathe();
    }
  }
  await insert(edits.inserted.get(at));
  put(chunker.flush());
  return pieces;
}

function editedLine(line: string, at: number, { removed, changed, convert }: Edits): string | undefined {
  if (removed !== 'all' && removed.has(at)) return undefined;
  const row = changed.get(at);
  if (row !== undefined) return encodeRow(row);
  return convert === undefined ? line : encodeRow(convert(decodeRow(line)));
}

/** The id of a row's line: the first text in it, which has no quotation mark of its own. */
const idOf = (line: string): string => line.slice(2, line.indexOf('"', 2));
