import { itemIdOf } from '../domain/ids.js';
import type { ImportParts } from '../parts.js';
import type { Source } from '../sources/port.js';
import type { ItemRecord } from '../stores/records.js';
import type { Hold } from './hold.js';

/** Records that one unit writes. */
const CHUNK = 500;

/** Writes down what a source holds, once: items that are to be, and what becomes nothing. */
export async function planItems(parts: ImportParts, hold: Hold, source: Source): Promise<void> {
  const { id: importId, tenant } = hold.record;
  const base = { tenant, importId, attempt: 0 };
  const keyOf = createKeys();
  const planned: Omit<ItemRecord, 'version' | 'seq'>[] = [
    ...source.items.map(({ path, kind, externalId }) => {
      const { key, doubled } = keyOf(path);
      const id = itemIdOf(importId, key);
      if (doubled) return { ...base, id, path, externalId, ...DOUBLED };
      return { ...base, id, path, kind, externalId, status: 'pending' as const };
    }),
    ...source.skipped.map((skipped) => {
      const id = itemIdOf(importId, keyOf(skipped.path).key);
      return { ...base, id, ...skipped, status: 'skipped' as const };
    }),
  ];
  for (let from = 0; from < planned.length; from += CHUNK) {
    const chunk = planned.slice(from, from + CHUNK).map((item, i) => ({ ...item, seq: from + i }));
    const known = new Set((await parts.importItems.getMany(chunk.map(({ id }) => id))).map(({ id }) => id));
    await hold.save(
      () => ({}),
      async (work) => {
        for (const item of chunk) if (!known.has(item.id)) work.insert(parts.importItems, item);
      },
    );
  }
  const skipped = source.skipped.length;
  const failed = planned.filter(({ status }) => status === 'failed').length;
  await hold.save(({ done }) => ({ planned: true, done: { ...done, total: planned.length, skipped, failed } }));
}

/** What becomes of an item whose path another item has. */
const DOUBLED = {
  status: 'failed',
  code: 'duplicate_path',
  message: 'Another item of the source has the same path.',
  retryable: false,
} as const;

/** Names that differ, of paths that may not: the first keeps its own. */
function createKeys(): (path: string) => { readonly key: string; readonly doubled: boolean } {
  const counts = new Map<string, number>();
  return (path) => {
    const before = counts.get(path) ?? 0;
    counts.set(path, before + 1);
    return { key: before === 0 ? path : `${path}\0${before}`, doubled: before > 0 };
  };
}

/** All item records of an import in their order, a thousand at a time. */
export async function* itemRecords(parts: ImportParts, importId: string): AsyncGenerator<ItemRecord[]> {
  let after: readonly (string | number | boolean)[] | undefined;
  for (;;) {
    const chunk: ItemRecord[] = await parts.importItems.find({
      where: { importId },
      sort: ['seq'],
      limit: 1000,
      after,
    });
    if (chunk.length > 0) yield chunk;
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < 1000) return;
    after = [last.seq, last.id];
  }
}
