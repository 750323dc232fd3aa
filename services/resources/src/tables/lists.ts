import { LostRace, type UnitOfWork } from '@commonplace/kit/store';
import { LRUCache } from 'lru-cache';
import { ChunkGone } from './cache.js';
import { chunkId, type PackedEntry, type StoredHead, type TableHead, type TableStores } from './records.js';

/** Maximum number of chunks that a stored head lists itself; with more, all but the last move to a separate list. */
const MAX_NAMED_CHUNKS = 32;
/** Maximum number of cached list entries, some 150 bytes each. */
const MAX_CACHED_ENTRIES = 50_000;

type Head = Omit<TableHead, 'version'>;

/**
 * Reads and writes heads together with their separate lists. If a list was deleted since its head was read, a call
 * throws LostRace with `work` and ChunkGone without. With `work`, uncommitted writes are visible.
 */
export interface ChunkLists {
  /** Returns a head that lists all its chunks itself. */
  whole<T extends Omit<StoredHead, 'version'>>(tableId: string, head: T, work?: UnitOfWork): Promise<T>;
  /** Returns all numbers that a head uses: those of its chunks and of its list. */
  numbers(tableId: string, head: Omit<StoredHead, 'version'>, work?: UnitOfWork): Promise<number[]>;
  /**
   * Converts a whole head to its stored form, and returns it with the numbers that `before` used and the new head does
   * not. Adds a new list to `work` if one is needed.
   */
  pack(
    head: Head,
    before: StoredHead | undefined,
    work: UnitOfWork,
  ): Promise<{ readonly stored: Omit<StoredHead, 'version'>; readonly dropped: readonly number[] }>;
}

export function createChunkLists({ chunks }: TableStores): ChunkLists {
  const known = new LRUCache<string, readonly PackedEntry[]>({
    maxSize: MAX_CACHED_ENTRIES,
    sizeCalculation: (entries) => entries.length + 1,
  });

  async function read(tableId: string, list: number, work: UnitOfWork | undefined): Promise<readonly PackedEntry[]> {
    const id = chunkId(tableId, list);
    const held = known.get(id);
    if (held !== undefined) return held;
    const stored = await chunks.get(id);
    // An uncommitted list may be rolled back, so it is not cached.
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
      if (named.length > MAX_NAMED_CHUNKS) {
        const number = head.nextChunk;
        // Excludes the last, open chunk, which appended rows replace.
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
