import { ChunkGone, type TableCache } from './cache.js';
import type { ChunkEntry, NewChunk } from './chunks.js';
import { type Column, PLAIN_COLUMN } from './column.js';
import type { TableState } from './compute.js';
import { type ChunkImage, createChunkImage, createTableImage, createTableView, renderedText, textOf } from './image.js';
import type { ChunkLists } from './lists.js';
import { emptyHead, entriesOf, type TableHead, type TableStores } from './records.js';
import type { Row } from './rows.js';
import type { Breathe } from './slices.js';

/** Reads the states of tables. */
export interface TableStates {
  /** Returns the head of the current state; that of a new table if nothing has been written yet. */
  head(tableId: string): Promise<Omit<TableHead, 'version'> & { readonly version?: number }>;
  /** Opens a head with all its rows. Throws ChunkGone if the head is outdated. */
  open(tableId: string, head: Omit<TableHead, 'version'>, breathe: Breathe): Promise<TableState>;
  /**
   * Opens a head with the chunks that hold a range of its rows. `first` is the index of the first row of these chunks.
   */
  openPart(
    tableId: string,
    head: Omit<TableHead, 'version'>,
    from: number,
    count: number,
    breathe: Breathe,
  ): Promise<{ state: TableState; first: number }>;
  /** Returns the rendered text of a chunk's rows, cached for the key `by`. Throws ChunkGone. */
  rendered(
    tableId: string,
    chunk: readonly ChunkEntry[],
    by: string,
    render: (rows: readonly Row[]) => Promise<string>,
    breathe: Breathe,
  ): Promise<string>;
  /** Returns the text of one chunk of a table. Throws ChunkGone. */
  text(tableId: string, entries: readonly ChunkEntry[], chunk: number, breathe: Breathe): Promise<string>;
  /** Returns a reader that also sees the new chunks of a state that is not stored yet. */
  with(fresh: ReadonlyMap<number, NewChunk>): TableStates;
  /** Runs a read, and retries it with a later state if chunks were deleted in the meantime. */
  settled<T>(work: () => Promise<T>): Promise<T>;
}

const MAX_TRIES = 5;

export function createTableStates(
  stores: TableStores,
  cache: TableCache,
  lists: ChunkLists,
  fresh: ReadonlyMap<number, NewChunk> = new Map(),
): TableStates {
  async function view(tableId: string, entries: readonly ChunkEntry[], whole: boolean, breathe: Breathe) {
    const stored = entries.filter(({ number }) => !fresh.has(number));
    const held =
      stored.length === 0
        ? createTableView(createTableImage(), [])
        : await cache.open(tableId, stored, whole && stored.length === entries.length, breathe);
    if (stored.length === entries.length) return held;
    const image = createTableImage();
    for (const [i, { number }] of stored.entries()) image.chunks.set(number, held.chunks[i] as ChunkImage);
    for (const { number, rows } of entries) {
      const text = fresh.get(number)?.text;
      if (text !== undefined) image.chunks.set(number, createChunkImage(rows, text));
    }
    return createTableView(
      image,
      entries.map(({ number }) => number),
    );
  }

  return {
    async head(tableId) {
      const head = await stores.heads.get(tableId);
      return head === undefined ? freshHead(tableId, '') : lists.whole(tableId, head);
    },
    async open(tableId, head, breathe) {
      return { head: { ...head, id: tableId }, view: await view(tableId, entriesOf(head), true, breathe) };
    },
    async openPart(tableId, head, from, count, breathe) {
      const entries = entriesOf(head);
      let first = 0;
      let start = 0;
      while (start < entries.length && first + (entries[start]?.rows ?? 0) <= from)
        first += entries[start++]?.rows ?? 0;
      let end = start;
      for (let at = first; end < entries.length && at < from + count; end++) at += entries[end]?.rows ?? 0;
      const part = await view(tableId, entries.slice(start, end), false, breathe);
      return { state: { head: { ...head, id: tableId }, view: part }, first };
    },
    async rendered(tableId, chunk, by, render, breathe) {
      const { chunks } = await view(tableId, chunk, false, breathe);
      return renderedText(chunks[0] as ChunkImage, by, render);
    },
    async text(tableId, entries, chunk, breathe) {
      const { chunks } = await view(tableId, entries.slice(chunk, chunk + 1), false, breathe);
      return textOf(chunks[0] as ChunkImage);
    },
    with: (more) => createTableStates(stores, cache, lists, more),
    async settled(work) {
      try {
        for (let tries = 1; ; tries++) {
          try {
            return await work();
          } catch (error) {
            if (!(error instanceof ChunkGone) || tries === MAX_TRIES) throw error;
          }
        }
      } finally {
        cache.settle();
      }
    },
  };
}

/** Returns the head of a table that nothing was written to: one text column, always the same, and no rows. */
export function freshHead(tableId: string, tenant: string): Omit<TableHead, 'version'> {
  const head = emptyHead(tableId, tenant);
  return { ...head, columns: [FIRST_COLUMN], primary: FIRST_COLUMN.id, nextSlot: FIRST_COLUMN.slot + 1 };
}

const FIRST_COLUMN: Column = { ...PLAIN_COLUMN, id: 'name', name: 'Name' };
