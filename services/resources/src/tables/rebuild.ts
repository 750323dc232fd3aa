import { type ChunkEntry, createChunker, type NewChunk } from './chunks.js';
import { BETWEEN, decodeRow, encodeRow, idOf, type Row, shortHash } from './rows.js';
import type { Breathe } from './slices.js';

/** Changes to the rows of a table, by row index. */
export interface Edits {
  /** Indices of deleted rows; `all` deletes every old row. */
  readonly removed: 'all' | ReadonlySet<number>;
  readonly changed: ReadonlyMap<number, Row>;
  /** Rows to insert before a row index, in order; the table's row count denotes its end. */
  readonly inserted: ReadonlyMap<number, readonly Row[]>;
  /** Converts every row that stays and is not changed. */
  readonly convert?: ((row: Row) => Row) | undefined;
}

/** A chunk of a table: an existing one by its entry, or a new one. */
export type Piece = ChunkEntry | NewChunk;

export const isNew = (piece: Piece): piece is NewChunk => 'text' in piece;

/** Returns whether the only edits are rows appended at the table's end. */
export function onlyAppends(rowCount: number, { removed, changed, inserted, convert }: Edits): boolean {
  const stays = removed !== 'all' && removed.size === 0 && changed.size === 0 && convert === undefined;
  return stays && inserted.size === 1 && inserted.has(rowCount);
}

/** Returns for each chunk whether it has to be read for these edits. */
function touchedChunks(entries: readonly ChunkEntry[], { removed, changed, inserted, convert }: Edits): boolean[] {
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
  // Rows at the end join the last chunk.
  if (next < rows.length && touched.length > 0) touched[touched.length - 1] = true;
  return touched;
}

/**
 * Returns the chunks of a table after some edits. An unaffected chunk is not read, unless the one before it now ends
 * elsewhere. A chunk whose text equals an old one reuses it. The last `parts` entries are parts of one chunk: they stay
 * together, or are merged.
 */
export async function rebuild(
  entries: readonly ChunkEntry[],
  edits: Edits,
  read: (chunk: number) => Promise<string>,
  breathe: Breathe,
  parts = 1,
): Promise<Piece[]> {
  const touched = touchedChunks(entries, edits);
  const firstPart = entries.length - parts;
  const touchParts = () => touched.fill(true, firstPart);
  if (parts > 1 && touched.includes(true, firstPart)) touchParts();
  const known = await knownStates(entries, read, parts);
  const pieces: Piece[] = [];
  const chunker = createChunker();
  const put = (chunk: NewChunk | undefined): void => {
    if (chunk === undefined) return;
    const same = known.get(chunk.hash);
    known.delete(chunk.hash);
    pieces.push(...(same ?? [chunk]));
  };
  const insert = async (rows: readonly Row[] | undefined): Promise<void> => {
    for (const row of rows ?? []) {
      put(chunker.push(row.id, encodeRow(row)));
      // A row may have megabytes.
      await breathe();
    }
  };

  let at = 0;
  if (edits.removed === 'all') at = entries.reduce((sum, { rows }) => sum + rows, 0);
  else {
    for (const [i, entry] of entries.entries()) {
      if (i === firstPart && parts > 1 && !chunker.isEmpty()) touchParts();
      if (touched[i] !== true && chunker.isEmpty()) {
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

/** Returns the entries of each chunk by the hash of its whole text. */
async function knownStates(
  entries: readonly ChunkEntry[],
  read: (chunk: number) => Promise<string>,
  parts: number,
): Promise<Map<string, readonly ChunkEntry[]>> {
  const whole = parts > 1 ? entries.slice(0, -parts) : entries;
  const known = new Map<string, readonly ChunkEntry[]>(whole.map((entry) => [entry.hash, [entry]]));
  const texts: string[] = [];
  for (let chunk = whole.length; chunk < entries.length; chunk++) texts.push(await read(chunk));
  if (texts.length > 0) known.set(shortHash(texts.join(BETWEEN)), entries.slice(whole.length));
  return known;
}

/**
 * Returns the number of a table's last chunks that are parts of the open chunk, which appended rows join; undefined if
 * it is unknown. `before` is this number for the table with the chunks `entries`.
 */
export function openParts(
  pieces: readonly Piece[],
  entries: readonly ChunkEntry[],
  before: number | undefined,
): number | undefined {
  const last = pieces.at(-1);
  if (last === undefined) return 0;
  if (isNew(last)) return last.open ? 1 : 0;
  // A chunk that was not the last one of its table is closed.
  return last.number === entries.at(-1)?.number ? before : 0;
}

function editedLine(line: string, at: number, { removed, changed, convert }: Edits): string | undefined {
  if (removed !== 'all' && removed.has(at)) return undefined;
  const row = changed.get(at);
  if (row !== undefined) return encodeRow(row);
  return convert === undefined ? line : encodeRow(convert(decodeRow(line)));
}
