import { isPassing } from '@commonplace/kit/errors';
import type { HeldJob } from '@commonplace/kit/jobs';
import type { CallOptions } from '@commonplace/kit/rpc';
import { removeAll } from '@commonplace/kit/store';
import type { TreePiece } from '@commonplace/proto/resources/v1/tree_export_service.js';
import type { Acting } from '../acting.js';
import { blobKey } from '../domain/layout.js';
import { actingFor } from './acting.js';
import { streamedEntry, wholeEntry } from './entries.js';
import { complete, finish, startOver } from './finish.js';
import { archiveMeter } from './meter.js';
import type { ArchiveParts } from './parts.js';
import { type ArchiveRecord, archiveKey } from './records.js';
import { type RunningExport, writeSums } from './running.js';
import { createSink } from './sink.js';

/** Maximum bytes of content that one read of the tree returns. */
const MAX_READ_BYTES = 8 * 1024 * 1024;
const READ_MS = 120_000;
/**
 * Milliseconds after which the tree is read anew behind the last resource. A caller token is valid for half a minute, and
 * writing a large file into the archive may take any time.
 */
const MAX_READ_AGE_MS = 15_000;
/** Maximum number of faults that an archive lists. */
const MAX_LISTED_FAULTS = 100;
/** Milliseconds between two updates of the displayed progress. */
const PROGRESS_INTERVAL_MS = 1_000;

/**
 * Continues an export from its last committed step. A step ends after a resource, once enough bytes for a part of the
 * upload have accumulated: the part is put, and then the archive's offset, its counts and the cursor in the tree are
 * committed. Parts that a dead process put after its last step are put again under the same numbers.
 */
export async function runExport(parts: ArchiveParts, hold: HeldJob<ArchiveRecord>): Promise<void> {
  if (hold.record.wholeBytes !== undefined) return complete(parts, hold);
  // Bytes under the key are a completed archive: its parts are gone, and nothing can be appended to it.
  if ((await parts.bytes.size(archiveKey(hold.record.id))) !== undefined) await startOver(parts, hold);
  const acting = actingFor(parts, hold.record);
  const { resourceCount, ...described } = await parts.treeExports.describeTree(
    { workspaceId: hold.record.workspaceId },
    await acting(),
  );
  const running = await begin(parts, hold, resourceCount);
  let savedAt = Date.now();
  for (let last = false; !last; ) {
    const readSince = Date.now();
    const reading = await continueReading(running, acting);
    for await (const step of reading) {
      if (hold.isStopping) return;
      if (step.last) last = true;
      if (step.done && running.sink.ripe) await endStep(running);
      else if (step.done && Date.now() - savedAt > PROGRESS_INTERVAL_MS) {
        savedAt = Date.now();
        const { resources, failed, files } = running;
        await hold.save({ shown: { resources, failed, files } });
      }
      if (step.done && Date.now() - readSince > MAX_READ_AGE_MS) break;
    }
  }
  await finish(running, described);
}

async function begin(parts: ArchiveParts, hold: HeldJob<ArchiveRecord>, total: number): Promise<RunningExport> {
  const { record } = hold;
  const key = archiveKey(record.id);
  if (record.upload === undefined) await removeAll(parts.store, parts.archiveSteps, { archiveId: record.id });
  const upload = record.upload ?? (await parts.bytes.beginParts(key));
  await hold.save({ upload, total: Math.max(total, record.resources) });
  const { resources, files, failed, faults, cursor, steps, offset, entries } = record;
  return {
    parts,
    hold,
    sink: createSink(parts.bytes, { key, upload, before: record.parts, admit: archiveMeter(parts, hold) }),
    written: { offset, entries, directory: [], sums: [] },
    resources,
    files,
    failed,
    faults: [...faults],
    cursor,
    steps,
  };
}

async function continueReading(running: RunningExport, acting: Acting) {
  const { format, include, workspaceId, createdAt: since } = running.hold.record;
  const request = { workspaceId, format, include, after: running.cursor, maxBytes: MAX_READ_BYTES, since };
  const options: CallOptions = await acting(READ_MS);
  return steps(running, running.parts.treeExports.readTree(request, options));
}

interface Step {
  readonly done: boolean;
  readonly last: boolean;
}

/** Writes the entries of one read of the tree. Yields after each resource and at the end of the tree. */
async function* steps(running: RunningExport, pieces: AsyncIterable<TreePiece>): AsyncGenerator<Step> {
  const iterator = pieces[Symbol.asyncIterator]();
  let faulty = false;
  try {
    for (let next = await iterator.next(); !next.done; ) {
      const piece = next.value;
      if (piece.path !== '') {
        next = await writeEntry(running, piece, iterator);
        continue;
      }
      if (piece.fault !== undefined) {
        faulty = true;
        running.faults.push({ resourceId: '', ...piece.fault });
      }
      if (piece.done !== '') {
        running.faults = running.faults
          .map((fault) => (fault.resourceId === '' ? { ...fault, resourceId: piece.done } : fault))
          .slice(0, MAX_LISTED_FAULTS);
        if (faulty) running.failed++;
        else running.resources++;
        faulty = false;
        running.cursor = piece.done;
      }
      if (piece.done !== '' || piece.last) yield { done: piece.done !== '', last: piece.last };
      next = await iterator.next();
    }
  } finally {
    await iterator.return?.();
  }
}

/** Writes the entry that a piece begins. Returns the next result of the iterator after the entry. */
async function writeEntry(
  running: RunningExport,
  first: TreePiece,
  iterator: AsyncIterator<TreePiece>,
): Promise<IteratorResult<TreePiece>> {
  const { sink, written, hold } = running;
  const modifiedAt = new Date(hold.record.createdAt);
  const { path } = first;
  if (first.fileId !== '') {
    await writeFile(running, path, first.fileId, modifiedAt);
    return iterator.next();
  }
  if (first.end) {
    await sink.write(await wholeEntry(path, first.data, modifiedAt, written));
    return iterator.next();
  }
  let next: IteratorResult<TreePiece> = { done: false, value: first };
  async function* data(): AsyncGenerator<Uint8Array> {
    while (!next.done && next.value.path === path) {
      const { data, end } = next.value;
      yield data;
      next = await iterator.next();
      if (end) return;
    }
  }
  const entry = { path, deflated: true, huge: false, modifiedAt };
  for await (const bytes of streamedEntry(entry, data(), written)) await sink.write(bytes);
  return next;
}

/** Entries of more than this many bytes use ZIP64 records. */
const ZIP64_BYTES = 4_000_000_000;

async function writeFile(running: RunningExport, path: string, fileId: string, modifiedAt: Date): Promise<void> {
  const { parts, sink, written } = running;
  const file = await parts.files.get(fileId);
  const version = file?.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
  const key = version === undefined ? undefined : blobKey(version.blobId);
  if (version === undefined || key === undefined || (await parts.bytes.size(key)) === undefined) {
    running.faults.push({ resourceId: '', code: 'file_missing', message: 'The bytes of the file are missing.' });
    running.failed++;
    return;
  }
  const deflated = /^text\/|[/+](?:json|xml|javascript)\b/.test(version.contentType);
  const entry = { path, deflated, huge: version.sizeBytes > ZIP64_BYTES, modifiedAt };
  const source = readUntilError(parts.bytes.read(key), (error) => {
    parts.log.warn('archive.file_unreadable', { resource_id: fileId, error });
    running.faults.push({
      resourceId: fileId,
      code: 'file_unreadable',
      message: 'The bytes of the file end too early.',
    });
    running.failed++;
  });
  for await (const bytes of streamedEntry(entry, source, written)) await sink.write(bytes);
  running.files++;
}

/**
 * Yields what can be read and reports an error instead of throwing it, so that one unreadable file does not stop the
 * export. Throws if the store is only unavailable: the export then continues later, with the whole file.
 */
async function* readUntilError(
  source: AsyncIterable<Buffer>,
  onError: (error: unknown) => void,
): AsyncGenerator<Buffer> {
  try {
    yield* source;
  } catch (error) {
    if (isPassing(error)) throw error;
    onError(error);
  }
}

/** Puts a part, and commits that everything up to here is in the archive. */
async function endStep(running: RunningExport): Promise<void> {
  const { hold, sink, written, parts } = running;
  const { id, tenant } = hold.record;
  const { sums, sha256 } = await writeSums(running);
  await sink.flush();
  const directory = Buffer.concat(written.directory).toString('base64');
  const { resources, files, failed, faults, cursor, steps: number } = running;
  const { offset, entries } = written;
  const progress = { resources, files, failed, faults, cursor, steps: number, offset, entries, parts: sink.parts };
  await hold.save({ ...progress, shown: { resources, failed, files } }, (work) => {
    work.insert(parts.archiveSteps, { id: `${id}:${number}`, tenant, archiveId: id, number, directory, sums, sha256 });
  });
  written.directory = [];
  written.sums = [];
}

/** Returns the progress that an export displays. */
export function progressOf({ shown, resources, failed, total }: ArchiveRecord) {
  const [done, wrong] = [shown?.resources ?? resources, shown?.failed ?? failed];
  return { processed: done + wrong, succeeded: done, failed: wrong, total: Math.max(total, done + wrong) };
}
