import { createHash } from 'node:crypto';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { TreePiece } from '@commonplace/proto/resources/v1/tree_export_service.js';
import { blobKey } from '../domain/layout.js';
import { type Acting, actingFor } from './acting.js';
import { streamedEntry, type Written, wholeEntry } from './entries.js';
import { finish } from './finish.js';
import type { Hold } from './hold.js';
import type { ArchiveParts } from './parts.js';
import { type ArchiveFault, type ArchiveRecord, archiveKey } from './records.js';
import { createSink, type Sink } from './sink.js';

/** Bytes of contents that one reading of the tree brings. */
const READ_BYTES = 8 * 1024 * 1024;
const READ_MS = 120_000;
/** Faults that an archive names. */
const FAULTS = 100;
/** Milliseconds after which it is said how far an export is. */
const TELL_MS = 1_000;

/** The work on one export, as far as this process knows. */
export interface Running {
  readonly parts: ArchiveParts;
  readonly hold: Hold;
  readonly sink: Sink;
  readonly written: Written;
  /** What of the record is ahead of what is stored. */
  resources: number;
  files: number;
  failed: number;
  faults: ArchiveFault[];
  cursor: string;
  steps: number;
}

/**
 * Goes on with an export from its last step. A step ends behind a resource, when enough bytes for a part of the upload
 * have come together: the part is put, and then where it ends, what is in it and how far the tree is read are
 * committed. What a dead process has put behind its last step is put again, under the same numbers.
 */
export async function runExport(parts: ArchiveParts, hold: Hold, stopped: () => boolean): Promise<void> {
  const acting = actingFor(parts, hold.record);
  const { resourceCount, ...described } = await parts.treeExports.describeTree(
    { workspaceId: hold.record.workspaceId },
    await acting(),
  );
  const running = await begin(parts, hold, resourceCount);
  let told = Date.now();
  for (let last = false; !last; ) {
    const reading = await readOn(running, acting);
    for await (const step of reading) {
      if (stopped()) return;
      if (step.last) last = true;
      if (step.done && running.sink.ripe) await endStep(running);
      else if (step.done && Date.now() - told > TELL_MS) {
        told = Date.now();
        const { resources, failed, files } = running;
        await hold.save({ shown: { resources, failed, files } });
      }
    }
  }
  await finish(running, described);
}

async function begin(parts: ArchiveParts, hold: Hold, total: number): Promise<Running> {
  const { record } = hold;
  const key = archiveKey(record.id);
  const upload = record.upload ?? (await parts.bytes.beginParts(key));
  await hold.save({ upload, total: Math.max(total, record.resources) });
  const { resources, files, failed, faults, cursor, steps, offset, entries } = record;
  return {
    parts,
    hold,
    sink: createSink(parts.bytes, key, upload, record.parts),
    written: { offset, entries, directory: [], sums: [] },
    resources,
    files,
    failed,
    faults: [...faults],
    cursor,
    steps,
  };
}

async function readOn(running: Running, acting: Acting) {
  const { format, include, workspaceId } = running.hold.record;
  const request = { workspaceId, format, include, after: running.cursor, maxBytes: READ_BYTES };
  const options: CallOptions = await acting(READ_MS);
  return steps(running, running.parts.treeExports.readTree(request, options));
}

interface Step {
  readonly done: boolean;
  readonly last: boolean;
}

/** Writes the entries of a reading, and says where a resource or all of them are done. */
async function* steps(running: Running, pieces: AsyncIterable<TreePiece>): AsyncGenerator<Step> {
  const iterator = pieces[Symbol.asyncIterator]();
  let faulty = false;
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
        .slice(0, FAULTS);
      if (faulty) running.failed++;
      else running.resources++;
      faulty = false;
      running.cursor = piece.done;
    }
    if (piece.done !== '' || piece.last) yield { done: piece.done !== '', last: piece.last };
    next = await iterator.next();
  }
}

/** Writes the entry that a piece begins; gives what comes behind it. */
async function writeEntry(
  running: Running,
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

/** From so many bytes on the records of an entry are the larger ones. */
const HUGE_BYTES = 4_000_000_000;

async function writeFile(running: Running, path: string, fileId: string, modifiedAt: Date): Promise<void> {
  const { parts, sink, written } = running;
  const file = await parts.files.get(fileId);
  const version = file?.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
  const key = version === undefined ? undefined : blobKey(version.blobId);
  if (version === undefined || key === undefined || (await parts.bytes.size(key)) === undefined) {
    running.faults.push({ resourceId: '', code: 'file_missing', message: 'The bytes of the file are not there.' });
    running.failed++;
    return;
  }
  const deflated = /^text\/|[/+](?:json|xml|javascript)\b/.test(version.contentType);
  const entry = { path, deflated, huge: version.sizeBytes > HUGE_BYTES, modifiedAt };
  const source = asFarAsItGoes(parts.bytes.read(key), (error) => {
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

/** What can be read: one file that can't stops nobody. */
async function* asFarAsItGoes(source: AsyncIterable<Buffer>, tell: (error: unknown) => void): AsyncGenerator<Buffer> {
  try {
    yield* source;
  } catch (error) {
    tell(error);
  }
}

/** Puts a part, and commits that everything up to here is in the archive. */
export async function endStep(running: Running): Promise<void> {
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

/** Writes the entry with the checksums of those written since the last one: its path, and the checksum of itself. */
export async function writeSums(running: Running): Promise<{ readonly sums: string; readonly sha256: string }> {
  const { hold, sink, written } = running;
  running.steps++;
  const sums = `checksums/${String(running.steps).padStart(6, '0')}.sha256`;
  const list = Buffer.from(written.sums.join(''));
  await sink.write(await wholeEntry(sums, list, new Date(hold.record.createdAt), written));
  return { sums, sha256: createHash('sha256').update(list).digest('hex') };
}

/** What an export shows of its progress. */
export function progressOf({ shown, resources, failed, total }: ArchiveRecord) {
  const [done, wrong] = [shown?.resources ?? resources, shown?.failed ?? failed];
  return { processed: done + wrong, succeeded: done, failed: wrong, total: Math.max(total, done + wrong) };
}
