import { releaseSource } from '../acts/source-bytes.js';
import { finishedEvent } from '../events.js';
import type { ImportParts } from '../parts.js';
import type { ImportFault } from '../sources/port.js';
import { itemRecords } from '../stores/item-records.js';
import { type Counts, type ImportRecord, type ItemCounts, type ItemRecord, NO_COUNTS } from '../stores/records.js';
import type { Hold } from './hold.js';
import { type Findings, labelOf, reportOf } from './report.js';

/** Maximum number of entries of one kind that a report lists. */
const MAX_LISTED_ENTRIES = 500;

/** Counts the results of an import, writes its report, publishes the event and finishes the job. */
export async function finishImport(
  parts: ImportParts,
  hold: Hold,
  notes: readonly string[],
  usersMapped: number,
): Promise<void> {
  await hold.save(() => ({ phase: 'link' }));
  const found = await findingsOf(parts, hold.record.id);
  await hold.save(() => ({ phase: 'index' }));
  const counts = { ...found.counts, usersMapped };
  const { done } = found;
  const alone = done.succeeded === 0 && !found.skipped.has('already_exists');
  const error = alone ? nothingImported(found) : undefined;
  const status = error !== undefined ? 'failed' : done.failed > 0 ? 'completed_with_errors' : 'completed';
  await end(
    parts,
    hold,
    { status, counts, done, error },
    reportOf({ ...hold.record, ...(error && { error }) }, { ...found, counts }, notes),
    found.skipped.get('image_not_fetched')?.count,
  );
}

/** Fails an import that can't continue. */
export async function failImport(parts: ImportParts, hold: Hold, fault: ImportFault): Promise<void> {
  const { code, message, retryable } = fault;
  const found = await findingsOf(parts, hold.record.id);
  const error = { code, message, retryable };
  const ended = { status: 'failed' as const, counts: found.counts, done: found.done, error };
  await end(parts, hold, ended, reportOf({ ...hold.record, error }, found, []));
}

type ImportOutcome = Pick<ImportRecord, 'status' | 'counts' | 'done'> & {
  readonly error: ImportRecord['error'] | undefined;
};

async function end(
  parts: ImportParts,
  hold: Hold,
  { error, ...ended }: ImportOutcome,
  text: string,
  imagesKept = 0,
): Promise<void> {
  const { id, tenant, blobId, heldBytes } = hold.record;
  const finishedAt = new Date().toISOString();
  const before = await parts.importReports.get(id);
  const warnings = [
    ...(ended.counts.linksBroken === 0 ? [] : [brokenLinks(ended.counts.linksBroken)]),
    ...(imagesKept === 0 ? [] : [keptImages(imagesKept)]),
  ];
  const releases = ended.status === 'completed' && blobId !== undefined;
  await hold.finish(
    () =>
      ({
        ...ended,
        error,
        warnings,
        finishedAt,
        ...(releases && { blobId: undefined, heldBytes: undefined }),
      }) as Partial<ImportRecord>,
    async (work) => {
      if (before === undefined) work.insert(parts.importReports, { id, tenant, text });
      else work.replace(parts.importReports, before, { ...before, text });
      work.publish(finishedEvent({ ...hold.record, ...ended, ...(error && { error }) }));
      if (releases) await releaseSource(parts, work, { tenant, blobId, heldBytes });
    },
  );
}

function keptImages(count: number) {
  const kept =
    count === 1
      ? '1 remote image was not fetched and stays a link'
      : `${count} remote images were not fetched and stay links`;
  return { code: 'remote_images_kept', message: `${kept}; the report lists ${itOrThem(count)}.` };
}

function brokenLinks(count: number) {
  const lead = count === 1 ? '1 link leads' : `${count} links lead`;
  const message = `${lead} to something that was not imported; the report lists ${itOrThem(count)}.`;
  return { code: 'links_broken', message };
}

const itOrThem = (count: number): string => (count === 1 ? 'it' : 'them');

function nothingImported({ failed, skipped, done }: Findings) {
  const [first] = failed;
  const [why] = [...skipped.values()];
  const reason =
    first !== undefined
      ? `${firstOf(done.failed, 'failed')}${labelOf(first)}: ${first.message ?? first.code}`
      : why !== undefined
        ? `${firstOf(done.skipped, done.skipped === 1 ? 'was skipped' : 'were skipped')}${why.path}: ${why.message ?? ''}`
        : 'The source contains nothing that can be imported.';
  // Items below a failed one fail again unless it succeeds.
  const retryable = failed.some((item) => item.retryable === true && item.code !== 'parent_failed');
  return { code: 'nothing_imported', message: `Nothing was imported. ${reason}`, retryable };
}

/** Aggregates the records of an import's items; links to failed items count as broken. */
async function findingsOf(parts: ImportParts, importId: string): Promise<Findings> {
  const counts: { -readonly [K in keyof Counts]: number } = { ...NO_COUNTS };
  const done: { -readonly [K in keyof ItemCounts]: number } = { total: 0, succeeded: 0, failed: 0, skipped: 0 };
  const failed: ItemRecord[] = [];
  const failedSeqs = new Map<number, string>();
  const skipped = new Map<string, { path: string; message: string | undefined; count: number }>();
  const broken: { path: string; href: string }[] = [];
  const warned: ItemRecord[] = [];
  const note = (path: string, href: string): void => {
    counts.linksBroken++;
    if (broken.length < MAX_LISTED_ENTRIES) broken.push({ path, href });
  };
  for await (const chunk of itemRecords(parts, importId)) {
    for (const record of chunk) {
      const { status, kind, seq, code = '', message } = record;
      const path = labelOf(record);
      done.total++;
      if (status === 'failed') {
        done.failed++;
        failedSeqs.set(seq, path);
        if (failed.length < MAX_LISTED_ENTRIES) failed.push(record);
      } else if (status === 'skipped') {
        done.skipped++;
        const known = skipped.get(code);
        if (known === undefined) skipped.set(code, { path, message, count: 1 });
        else known.count++;
      } else if (status !== 'pending') {
        done.succeeded++;
        if (kind === 'document') counts.documents++;
        if (kind === 'table') counts.tables++;
        if (kind === 'file') counts.files++;
        if (kind === 'folder') counts.folders++;
        if (message !== undefined && warned.length < MAX_LISTED_ENTRIES) warned.push(record);
      }
      counts.rows += record.rows ?? 0;
      counts.linksRewritten += record.links ?? 0;
      for (const href of record.broken ?? []) note(path, href);
    }
  }
  if (failedSeqs.size > 0) await noteLinksToFailed(parts, importId, failedSeqs, note);
  return { counts, done, failed, skipped, broken, warned };
}

async function noteLinksToFailed(
  parts: ImportParts,
  importId: string,
  failed: ReadonlyMap<number, string>,
  note: (path: string, href: string) => void,
): Promise<void> {
  for await (const chunk of itemRecords(parts, importId)) {
    for (const { targets = [], ...record } of chunk) {
      for (const seq of targets) {
        const target = failed.get(seq);
        if (target !== undefined) note(labelOf(record), target);
      }
    }
  }
}

const firstOf = (count: number, verb: string): string =>
  count === 1 ? `One item ${verb}, ` : `${count} items ${verb}, the first, `;
