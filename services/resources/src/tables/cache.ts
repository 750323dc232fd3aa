import type { ChunkEntry, NewChunk } from './chunks.js';
import {
  createChunkImage,
  createTableImage,
  createTableView,
  dropChunk,
  holdChunk,
  type TableImage,
  type TableView,
  weightOf,
} from './image.js';
import { chunkId, type TableStores } from './records.js';
import type { Breathe } from './slices.js';

/** Reports that a chunk listed in the head that was read no longer exists; a later head lists others. */
export class ChunkGone extends Error {}

/** Bytes of chunks that are read from the store at a time, which takes some 4 ms, and at least one chunk. */
const BATCH_BYTES = 192 * 1024;
/** Maximum number of chunks that are read at a time. */
const BATCH = 16;

/** Caches chunks of tables up to a number of bytes, and evicts the least recently used tables. */
export interface TableCache {
  /** Returns the given chunks of a table, in order; `whole` if they are all that the table has. Throws ChunkGone. */
  open(tableId: string, entries: readonly ChunkEntry[], whole: boolean, breathe: Breathe): Promise<TableView>;
  /** Replaces chunks of a cached table after a write: removes `gone` and adds `fresh`. */
  replace(tableId: string, gone: readonly number[], fresh: ReadonlyMap<number, NewChunk>): void;
  /** Evicts tables above the limit; called after a use. */
  settle(): void;
  /** Approximate bytes in the cache. */
  readonly weight: number;
}

export function createTableCache({ chunks }: TableStores, maxBytes: number): TableCache {
  const images = new Map<string, TableImage>();

  async function read(
    tableId: string,
    image: TableImage,
    entries: readonly ChunkEntry[],
    breathe: Breathe,
  ): Promise<void> {
    const found = await chunks.getMany(entries.map(({ number }) => chunkId(tableId, number)));
    const texts = new Map(found.map(({ id, text }) => [id, text]));
    for (const { number, rows } of entries) {
      const text = texts.get(chunkId(tableId, number));
      if (text === undefined) throw new ChunkGone(chunkId(tableId, number));
      await breathe();
      holdChunk(image, number, createChunkImage(rows, text));
    }
  }

  return {
    async open(tableId, entries, whole, breathe) {
      const image = images.get(tableId) ?? createTableImage();
      images.delete(tableId);
      images.set(tableId, image);
      const numbers = entries.map(({ number }) => number);
      const held = createTableView(image, numbers);
      const missing = entries.filter(({ number }) => !image.chunks.has(number));
      for (let at = 0; at < missing.length; ) {
        const batch = batchOf(missing, at);
        await read(tableId, image, batch, breathe);
        at += batch.length;
        await breathe();
      }
      const view = held.chunks.length === entries.length ? held : createTableView(image, numbers);
      if (whole) trim(image, numbers);
      return view.chunks.length === entries.length ? view : this.open(tableId, entries, whole, breathe);
    },
    replace(tableId, gone, fresh) {
      const image = images.get(tableId);
      if (image === undefined) return;
      for (const number of gone) dropChunk(image, number);
      for (const [number, { rows, text }] of fresh) holdChunk(image, number, createChunkImage(rows, text));
    },
    settle() {
      const weights = new Map([...images].map(([id, image]) => [id, weightOf(image)]));
      let total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
      for (const [id, weight] of weights) {
        if (total <= maxBytes) return;
        total -= weight;
        images.delete(id);
      }
    },
    get weight() {
      return [...images.values()].reduce((sum, image) => sum + weightOf(image), 0);
    },
  };
}

/** Returns the chunks from `at` that are read together. */
function batchOf(entries: readonly ChunkEntry[], at: number): readonly ChunkEntry[] {
  let end = at + 1;
  let bytes = entries[at]?.bytes ?? 0;
  while (end < entries.length && end - at < BATCH) {
    bytes += entries[end]?.bytes ?? 0;
    if (bytes > BATCH_BYTES) break;
    end++;
  }
  return entries.slice(at, end);
}

/** Removes chunks of other versions of a table once there are many. */
function trim(image: TableImage, numbers: readonly number[]): void {
  if (image.chunks.size <= numbers.length * 2 + 64) return;
  const present = new Set(numbers);
  for (const number of [...image.chunks.keys()]) if (!present.has(number)) dropChunk(image, number);
}
