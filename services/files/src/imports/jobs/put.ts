import { ImportItem, type PutItemOutcome } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { Acting } from '../../acting.js';
import { itemIdOf } from '../domain/ids.js';
import type { ImportParts } from '../parts.js';
import type { Counts, ImportRecord, ItemCounts, ItemRecord, ItemState } from '../stores/records.js';
import { lostAccess } from './acting.js';
import type { Hold } from './hold.js';
import { type PreparedItem, parentFailed, prepareItem, type RefusedItem } from './prepare.js';
import type { PreparedFile, Run } from './run-parts.js';

/** Items of one batch, and approximate bytes of its content. */
const BATCH_ITEMS = 50;
const BATCH_BYTES = 1024 * 1024;
/** Bytes of content in one call. */
const CALL_BYTES = 8 * 1024 * 1024;
/** Items of a batch that are read concurrently. */
const READ_CONCURRENCY = 4;

type ReadItem = PreparedItem | RefusedItem;

/** Holds the result of one item. */
interface Result {
  readonly seq: number;
  readonly changes: Partial<ItemRecord> & { readonly status: ItemState };
}

/**
 * Writes all items in batches; the next batch is read while one is written. Calls `stopped`, which may throw, before
 * each.
 */
export async function putAll(
  parts: ImportParts,
  hold: Hold,
  run: Run,
  acting: Acting,
  stopped: () => void,
): Promise<void> {
  const reader = readBatches(run);
  let next = reader.next();
  // Prevents an unhandled rejection; the error is thrown when this batch is awaited.
  next.catch(() => {});
  for (;;) {
    const { value: batch, done } = await next;
    if (done === true || batch === undefined) return;
    stopped();
    next = reader.next();
    next.catch(() => {});
    await putBatch(parts, hold, run, batch, acting);
  }
}

async function* readBatches(run: Run): AsyncGenerator<ReadItem[]> {
  for (let due = run.items.due(); due.length > 0; due = run.items.newlyDue()) {
    let batch: ReadItem[] = [];
    let bytes = 0;
    for (let from = 0; from < due.length; from += READ_CONCURRENCY) {
      const some = await Promise.all(due.slice(from, from + READ_CONCURRENCY).map((seq) => prepareItem(run, seq)));
      batch.push(...some);
      for (const one of some) bytes += 'item' in one ? one.bytes : 0;
      if (batch.length < BATCH_ITEMS && bytes < BATCH_BYTES) continue;
      yield batch;
      batch = [];
      bytes = 0;
    }
    if (batch.length > 0) yield batch;
  }
}

async function putBatch(
  parts: ImportParts,
  hold: Hold,
  run: Run,
  batch: readonly ReadItem[],
  acting: Acting,
): Promise<void> {
  const prepared = batch.filter((one) => 'item' in one);
  const outcomes = new Map<string, PutItemOutcome>();
  if (!run.record.dryRun) {
    for (const call of callsOf(prepared)) await putCall(parts, run, call, outcomes, acting);
    for (const one of prepared) await putFurther(parts, run, one, outcomes, acting);
  }
  const results = batch.map((one) => ('item' in one ? resultOf(run, one, outcomes.get(one.item.id)) : refusal(one)));
  for (const { seq, changes } of results) run.items.settle(seq, changes.status);
  await keep(parts, hold, run, results, filesOf(prepared, outcomes));
}

/** Writes the items of one call, without those below an item that has failed since they were read. */
async function putCall(
  parts: ImportParts,
  run: Run,
  call: readonly PreparedItem[],
  outcomes: Map<string, PutItemOutcome>,
  acting: Acting,
): Promise<void> {
  const { items } = run;
  const due: PreparedItem[] = [];
  for (const one of call) {
    if (items.isBelowFailed(one.seq)) items.settle(one.seq, 'failed');
    else due.push(one);
  }
  if (due.length === 0) return;
  const sent = due.map(({ item }) => item);
  for (const outcome of await putItems(parts, run, sent, acting)) outcomes.set(outcome.id, outcome);
  for (const { seq, item } of due) if (outcomes.get(item.id)?.status === 'failed') items.settle(seq, 'failed');
}

/** Groups items into calls that fit into a message; a larger item gets a call of its own. */
function* callsOf(prepared: readonly PreparedItem[]): Generator<PreparedItem[]> {
  let call: PreparedItem[] = [];
  let bytes = 0;
  for (const one of prepared) {
    if (call.length > 0 && bytes + one.bytes > CALL_BYTES) {
      yield call;
      call = [];
      bytes = 0;
    }
    call.push(one);
    bytes += one.bytes;
  }
  if (call.length > 0) yield call;
}

async function putItems(
  parts: ImportParts,
  { record }: Run,
  items: ImportItem[],
  acting: Acting,
): Promise<PutItemOutcome[]> {
  const { id, workspaceId, name } = record;
  const request = { workspaceId, items, import: { id, name } };
  return (await parts.treeImports.putItems(request, await acting()).catch(lostAccess)).outcomes;
}

/** Writes rows and snapshots that did not fit into the first call. If one of these calls fails, the item fails. */
async function putFurther(
  parts: ImportParts,
  run: Run,
  { item: { id, type }, further }: PreparedItem,
  outcomes: Map<string, PutItemOutcome>,
  acting: Acting,
): Promise<void> {
  let whole = outcomes.get(id);
  if (further === undefined || whole === undefined || whole.status === 'failed') return;
  for await (const piece of further()) {
    const [outcome] = await putItems(parts, run, [ImportItem.fromPartial({ id, type, ...piece })], acting);
    if (outcome === undefined) continue;
    const failed = outcome.status === 'failed';
    whole = failed ? outcome : { ...whole, warnings: [...whole.warnings, ...outcome.warnings] };
    outcomes.set(id, whole);
    if (failed) return;
  }
}

function filesOf(prepared: readonly PreparedItem[], outcomes: ReadonlyMap<string, PutItemOutcome>) {
  const put: PreparedFile[] = [];
  const refused: PreparedFile[] = [];
  for (const { item, file } of prepared) {
    if (file === undefined) continue;
    const { status = 'failed' } = outcomes.get(item.id) ?? {};
    (status === 'failed' ? refused : put).push(file);
  }
  return { put, refused };
}

function resultOf(
  { record }: Run,
  { seq, item, links, rows, warnings }: PreparedItem,
  outcome?: PutItemOutcome,
): Result {
  const { attempt, dryRun } = record;
  if (outcome === undefined && !dryRun) return refusal(parentFailed(seq));
  if (outcome?.status === 'failed') {
    const { code, message, retryable } = outcome;
    return { seq, changes: { status: 'failed', attempt, code, message, retryable } };
  }
  const text = [...warnings, ...(outcome?.warnings ?? [])].join(' ');
  return {
    seq,
    changes: {
      status: item.update && outcome?.status !== 'created' ? 'updated' : 'created',
      attempt,
      ...(dryRun ? {} : { resourceId: item.id }),
      ...(text === '' ? {} : { message: text }),
      ...(rows === 0 ? {} : { rows }),
      ...(links.count() === 0 ? {} : { links: links.count(), targets: links.targets() }),
      ...(links.broken().length === 0 ? {} : { broken: links.broken() }),
    },
  };
}

function refusal({ seq, ...changes }: RefusedItem): Result {
  return { seq, changes };
}

/** Stores the results of items, in one unit of work with the versions that their files' bytes become. */
async function keep(
  parts: ImportParts,
  hold: Hold,
  run: Run,
  results: readonly Result[],
  files: { readonly put: readonly PreparedFile[]; readonly refused: readonly PreparedFile[] },
): Promise<void> {
  const { id: importId, attempt } = run.record;
  const ids = results.map(({ seq }) => itemIdOf(importId, run.items.item(seq).path));
  const before = new Map((await parts.importItems.getMany(ids)).map((record) => [record.seq, record]));
  await hold.save(
    (record) => progressAfter(record, results, before),
    async (work) => {
      for (const { seq, changes } of results) {
        const record = before.get(seq);
        if (record === undefined) continue;
        const { tenant, path, title, kind, externalId, id } = record;
        const bare = { id, tenant, importId, seq, path, kind, externalId, ...(title !== undefined && { title }) };
        work.replace(parts.importItems, record, { ...bare, attempt, ...changes });
      }
      await run.files.keep(work, run, files.put);
    },
  );
  run.files.kept(run, files.put);
  await run.files.drop(run, files.refused);
}

const COUNTED = { document: 'documents', table: 'tables', file: 'files', folder: 'folders' } as const;

/** Returns an import's progress after these results. The final counts are computed when it ends. */
function progressAfter(
  { done, counts }: ImportRecord,
  results: readonly Result[],
  before: ReadonlyMap<number, ItemRecord>,
): { done: ItemCounts; counts: Counts } {
  const now = { ...done };
  const sums: { -readonly [K in keyof Counts]: number } = { ...counts };
  for (const { seq, changes } of results) {
    const record = before.get(seq);
    if (record === undefined) continue;
    const was = fieldOf(record.status);
    const is = fieldOf(changes.status);
    if (was !== undefined) now[was]--;
    if (is !== undefined) now[is]++;
    if (is !== 'succeeded' || was === 'succeeded') continue;
    const kind = record.kind === undefined || record.kind === 'artifact' ? undefined : COUNTED[record.kind];
    if (kind !== undefined) sums[kind]++;
    sums.rows += changes.rows ?? 0;
    sums.linksRewritten += changes.links ?? 0;
    sums.linksBroken += changes.broken?.length ?? 0;
  }
  return { done: now, counts: sums };
}

function fieldOf(status: ItemState): 'succeeded' | 'failed' | 'skipped' | undefined {
  if (status === 'created' || status === 'updated') return 'succeeded';
  return status === 'pending' ? undefined : status;
}
