import { LostRace, type UnitOfWork } from '@commonplace/kit/store';
import { LRUCache } from 'lru-cache';
import { ChunkGone } from './cache.js';
import { chunkId, type PackedEntry, type StoredHead, type TableHead, type TableStores } from './records.js';

/** Chunks that a stored head names itself; of more, all but the last go into a list. */
export const MOST_NAMED = 32;
/** Entries of lists that are kept in memory, some 150 bytes each. */
const KEPT_ENTRIES = 50_000;

type Head = Omit<TableHead, 'version'>;

/**
 * Reads and writes heads with the lists that they begin with. Where a list has gone since its head was read, a call
 * throws LostRace with `work` and ChunkGone without. With `work`, what this unit has written counts.
 */
export interface ChunkLists {
  /** A head with all its chunks. */
  whole<T extends Omit<StoredHead, 'version'>>(tableId: string, head: T, work?: UnitOfWork): Promise<T>;
  /** All numbers that a head takes up: its chunks, and its list. */
  numbers(tableId: string, head: Omit<StoredHead, 'version'>, work?: UnitOfWork): Promise<number[]>;
  /**
   * A whole head as it is stored in the place of another, with the numbers that this one has no more. A new list is
   * put into `work`.
   */
  pack(
    head: Head,
    before: StoredHead | undefined,
    work: UnitOfWork,
  ): Promise<{ readonly stored: Omit<StoredHead, 'version'>; readonly dropped: readonly number[] }>;
}

export function createChunkLists({ chunks }: TableStores): ChunkLists {
  const known = new LRUCache<string, readonly PackedEntry[]>({
    maxSize: KEPT_ENTRIES,
    sizeCalculation: (entries) => entries.length + 1,
  });

  async function read(tableId: string, list: number, work: UnitOfWork | undefined): Promise<readonly PackedEntry[]> {
    const id = chunkId(tableId, list);
    const held = known.get(id);
    if (held !== undefined) return held;
    const stored = await chunks.get(id);
    // One that this very unit has written may yet come to nothing, and is not to be remembered.
    const found = stored ?? (await work?.get(chunks, id));
    if (found === undefined) throw work === undefined ? new ChunkGone(id) : new LostRace(chunks.spec.name, id);
    const entries = JSON.parse(found.text) as PackedEntry[];
    if (stored !== undefined) known.set(id, entries);
    return entries;
  }

  async function numbers(tableId: string, { list, chunks: named }: Omit<StoredHead, 'version'>, work?: UnitOfWork) {
    const own = named.map(([number]) => number);
    if (list === undefined) return own;
    return [list, ...(await read(tableId, list, work)).map(([number]) => number), ...own];
  }

  return {
    async whole(tableId, head, work) {
      const { list } = head;
      if (list === undefined) return head;
      return { ...head, list: undefined, chunks: [...(await read(tableId, list, work)), ...head.chunks] };
    },
    numbers,
    async pack(head, before, work) {
      const list = before?.list;
      const listed = list === undefined ? undefined : await read(head.id, list, work);
      const stays = listed !== undefined && beginsWith(head.chunks, listed);
      const named = stays ? head.chunks.slice(listed.length) : head.chunks;
      let stored: Omit<StoredHead, 'version'> = { ...head, chunks: named, ...(stays && { list }) };
      if (named.length > MOST_NAMED) {
        const number = head.nextChunk;
        // What rows at the end take the place of is left out.
        const listed = head.chunks.length - Math.max(head.open ?? 1, 1);
        const text = JSON.stringify(head.chunks.slice(0, listed));
        work.insert(chunks, { id: chunkId(head.id, number), tenant: head.tenant, text });
        stored = { ...head, chunks: head.chunks.slice(listed), list: number, nextChunk: number + 1 };
      }
      if (before === undefined) return { stored, dropped: [] };
      const shares = stored.list === list;
      const had = shares ? before.chunks.map(([number]) => number) : await numbers(head.id, before, work);
      const has = new Set((shares ? stored.chunks : head.chunks).map(([number]) => number));
      return { stored, dropped: [...had, ...before.loose].filter((number) => !has.has(number)) };
    },
  };
}

function beginsWith(all: readonly PackedEntry[], beginning: readonly PackedEntry[]): boolean {
  return all.length >= beginning.length && beginning.every(([number], at) => all[at]?.[0] === number);
}
