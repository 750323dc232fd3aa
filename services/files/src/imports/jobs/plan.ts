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
  const planned: Omit<ItemRecord, 'version' | 'id' | 'seq'>[] = [
    ...source.items.map(({ path, kind, externalId }) => ({
      ...base,
      path,
      kind,
      externalId,
      status: 'pending' as const,
    })),
    ...source.skipped.map((skipped) => ({ ...base, ...skipped, status: 'skipped' as const })),
  ];
  for (let from = 0; from < planned.length; from += CHUNK) {
    const chunk = planned.slice(from, from + CHUNK).map((item, i) => ({
      ...item,
      id: itemIdOf(importId, item.path),
      seq: from + i,
    }));
    const known = new Set((await parts.importItems.getMany(chunk.map(({ id }) => id))).map(({ id }) => id));
    await hold.save(
      () => ({}),
      async (work) => {
        for (const item of chunk) if (!known.has(item.id)) work.insert(parts.importItems, item);
      },
    );
  }
  const skipped = source.skipped.length;
  await hold.save(({ done }) => ({ planned: true, done: { ...done, total: planned.length, skipped } }));
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
