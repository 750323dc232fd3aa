import { type Breathe, createBreathe } from '@commonplace/kit/slices';
import { itemIdOf } from '../domain/ids.js';
import type { ImportParts } from '../parts.js';
import type { Source } from '../sources/port.js';
import type { ImportRecord, ItemRecord } from '../stores/records.js';
import type { Hold } from './hold.js';

type PlannedItem = Omit<ItemRecord, 'version'>;

/** Maximum number of records that one unit of work writes. */
const CHUNK = 500;

/** Stores a record for each item of a source, once: for those to import and for those to skip. */
export async function planItems(parts: ImportParts, hold: Hold, source: Source): Promise<void> {
  let failed = 0;
  const breathe = createBreathe();
  for await (const chunk of chunksOf(plannedItems(hold.record, source), breathe)) {
    for (const { status } of chunk) if (status === 'failed') failed++;
    const known = new Set((await parts.importItems.getMany(chunk.map(({ id }) => id))).map(({ id }) => id));
    await hold.save(
      () => ({}),
      async (work) => {
        for (const item of chunk) {
          if (!known.has(item.id)) work.insert(parts.importItems, item);
          await breathe();
        }
      },
    );
  }
  const skipped = source.skipped.length;
  const total = source.items.length + skipped;
  await hold.save(({ done }) => ({ planned: true, done: { ...done, total, skipped, failed } }));
}

function* plannedItems(
  { id: importId, tenant }: ImportRecord,
  { items, skipped, opaquePaths }: Source,
): Generator<PlannedItem> {
  const base = { tenant, importId, attempt: 0 };
  const keyOf = createKeys();
  let seq = 0;
  for (const { path, kind, name, externalId } of items) {
    const { key, doubled } = keyOf(path);
    const place = {
      ...base,
      id: itemIdOf(importId, key),
      seq: seq++,
      path,
      externalId,
      ...(opaquePaths && { title: name }),
    };
    yield doubled ? { ...place, ...DOUBLED } : { ...place, kind, status: 'pending' };
  }
  for (const one of skipped) {
    yield { ...base, id: itemIdOf(importId, keyOf(one.path).key), seq: seq++, ...one, status: 'skipped' };
  }
}

async function* chunksOf(planned: Iterable<PlannedItem>, breathe: Breathe): AsyncGenerator<PlannedItem[]> {
  let chunk: PlannedItem[] = [];
  for (const item of planned) {
    chunk.push(item);
    await breathe();
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** Result of an item whose path another item has. */
const DOUBLED = {
  status: 'failed',
  code: 'duplicate_path',
  message: 'Another item of the source has the same path.',
  retryable: false,
} as const;

/** Returns a function that makes unique keys of paths that may repeat; the first keeps its path. */
function createKeys(): (path: string) => { readonly key: string; readonly doubled: boolean } {
  const counts = new Map<string, number>();
  return (path) => {
    const before = counts.get(path) ?? 0;
    counts.set(path, before + 1);
    return { key: before === 0 ? path : `${path}\0${before}`, doubled: before > 0 };
  };
}
