import type { HeldJob } from '@commonplace/kit/jobs';
import { findEach, removeAll } from '@commonplace/kit/store';
import type { DescribeTreeResponse } from '@commonplace/proto/resources/v1/tree_export_service.js';
import { measureAll } from '../blobs/measure.js';
import { BlobMissing, type StoredBytes, WrongBytes } from '../blobs/port.js';
import { EXPORT_DAYS } from '../config.js';
import { archiveEnd } from '../zip.js';
import { wholeEntry } from './entries.js';
import { expireEarlier } from './expire.js';
import type { ArchiveParts } from './parts.js';
import { type ArchiveRecord, archiveKey, type StepRecord } from './records.js';
import { settleArchive } from './room.js';
import { type RunningExport, writeSums } from './running.js';

/** Version of the format that `docs/archive-format.md` describes. */
const FORMAT_VERSION = 1;
const DAY_MS = 86_400_000;

/** Ends an archive: writes the tags, the manifest and the directory of all entries. */
export async function finish(
  running: RunningExport,
  { tagsJson, publicationJson }: Pick<DescribeTreeResponse, 'tagsJson' | 'publicationJson'>,
): Promise<void> {
  const { parts, hold, sink, written } = running;
  const { id } = hold.record;
  const key = archiveKey(id);
  const at = new Date(hold.record.createdAt);
  await sink.write(await wholeEntry('tags.json', tagsJson, at, written));
  // No step ends here, because every part but the last must have a minimum size.
  const sums = await writeSums(running);
  const checksums: { path: string; sha256: string }[] = [];
  for await (const { sums: path, sha256 } of stepsOf(parts, id)) checksums.push({ path, sha256 });
  checksums.push({ path: sums.sums, sha256: sums.sha256 });
  const manifest = manifestOf(running, JSON.parse(String(publicationJson)), checksums);
  await sink.write(await wholeEntry('manifest.json', manifest, at, written));
  const { offset } = written;
  let size = 0;
  const put = async (bytes: Buffer) => {
    size += bytes.length;
    await sink.write(bytes);
  };
  for await (const { directory } of stepsOf(parts, id)) await put(Buffer.from(directory, 'base64'));
  for (const record of written.directory) await put(record);
  const last = archiveEnd(written.entries, offset, size);
  await sink.write(last);
  await sink.flush();
  if (!(await isWhole(running, key))) return;
  const { resources, files, failed, faults } = running;
  const counts = { resources, files, failed, faults, shown: { resources, failed, files } };
  await hold.save({ ...counts, wholeBytes: offset + size + last.length });
  await complete(parts, hold);
}

/**
 * Completes the multipart upload of an export and finishes its job. All parts are put and `wholeBytes` is stored by
 * now, so a worker that takes the export over only completes it, after checking whether an earlier worker has done so.
 */
export async function complete(parts: ArchiveParts, hold: HeldJob<ArchiveRecord>): Promise<void> {
  const { id, workspaceId, failed } = hold.record;
  const stored = await completeOnce(parts, hold);
  const now = Date.now();
  const before = hold.record;
  const change = {
    status: failed > 0 ? ('completed_with_errors' as const) : ('completed' as const),
    sizeBytes: stored.sizeBytes,
    ...(before.heldBytes !== undefined && { heldBytes: stored.sizeBytes }),
    sha256: stored.sha256,
    finishedAt: new Date(now).toISOString(),
    expiresAt: new Date(now + EXPORT_DAYS * DAY_MS).toISOString(),
    activeKey: undefined,
  };
  await hold.finish(change, (work) => settleArchive(parts, work, before, stored.sizeBytes));
  await removeAll(parts.store, parts.archiveSteps, { archiveId: id });
  await expireEarlier(parts, workspaceId, id);
}

/** Completes the parts, or measures the blob that an earlier worker has completed. */
async function completeOnce(parts: ArchiveParts, hold: HeldJob<ArchiveRecord>): Promise<StoredBytes> {
  const { id, upload = '', wholeBytes } = hold.record;
  const key = archiveKey(id);
  try {
    if ((await parts.bytes.size(key)) === wholeBytes) {
      const stored = await measureAll(parts.bytes.read(key));
      await parts.bytes.abortParts(key, upload);
      return stored;
    }
    return await parts.bytes.completeParts(key, upload, { sizeBytes: wholeBytes });
  } catch (error) {
    // The parts are lost or are not those that were put: the next try writes all of them again.
    if (error instanceof WrongBytes || error instanceof BlobMissing) await startOver(parts, hold);
    throw error;
  }
}

/**
 * Checks that the stored parts are those of this archive. A dead process may have put more parts after its last step
 * than were rewritten, when a file has shrunk meanwhile; the export then starts over.
 */
async function isWhole({ parts, hold, sink }: RunningExport, key: string): Promise<boolean> {
  const there = await parts.bytes.parts(key, hold.record.upload ?? '');
  if (there.length <= sink.parts) return true;
  await startOver(parts, hold);
  await hold.retryIn(0, { status: 'queued' });
  return false;
}

/** Discards everything that an export has written. Its next run begins by deleting the remaining steps. */
export async function startOver(parts: ArchiveParts, hold: HeldJob<ArchiveRecord>): Promise<void> {
  const { id, upload } = hold.record;
  const key = archiveKey(id);
  const nothing = {
    cursor: '',
    parts: 0,
    offset: 0,
    entries: 0,
    steps: 0,
    resources: 0,
    files: 0,
    failed: 0,
    faults: [],
  };
  await hold.save({ ...nothing, upload: undefined, shown: undefined, wholeBytes: undefined });
  if (upload !== undefined) await parts.bytes.abortParts(key, upload);
  await parts.bytes.delete(key);
}

function manifestOf(
  { hold: { record }, resources, files, faults, written, failed }: RunningExport,
  publication: unknown,
  checksums: readonly object[],
): Buffer {
  const { id, format, include, workspace, createdBy, createdAt } = record;
  const manifest = {
    format: 'commonplace-archive',
    format_version: FORMAT_VERSION,
    content: format,
    archive_id: id,
    created_at: createdAt,
    created_by: createdBy,
    include,
    workspace: format === 'native' ? { ...workspace, publication } : workspace,
    counts: { resources, files, failed, entries: written.entries + 1 },
    errors: faults.map(({ resourceId, code, message }) => ({ resource_id: resourceId, code, message })),
    checksums,
  };
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

/** Steps that one query reads. */
const PAGE = 50;

const stepsOf = ({ archiveSteps }: ArchiveParts, archiveId: string): AsyncGenerator<StepRecord> =>
  findEach(archiveSteps, { where: { archiveId }, sort: ['number'] }, PAGE);
