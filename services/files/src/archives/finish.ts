import type { DescribeTreeResponse } from '@commonplace/proto/resources/v1/tree_export_service.js';
import { DAYS_KEPT } from '../config.js';
import { wholeEntry } from './entries.js';
import { expireArchive, removeSteps } from './expire.js';
import { type Running, writeSums } from './export.js';
import type { ArchiveParts } from './parts.js';
import { archiveKey, type StepRecord } from './records.js';
import { archiveEnd } from './zip.js';

/** The version of what `docs/archive-format.md` describes. */
export const FORMAT_VERSION = 1;
const DAY_MS = 86_400_000;

/** Ends an archive: the tags, the manifest, and the directory of all its entries. */
export async function finish(
  running: Running,
  { tagsJson, publicationJson }: Pick<DescribeTreeResponse, 'tagsJson' | 'publicationJson'>,
): Promise<void> {
  const { parts, hold, sink, written } = running;
  const { id, workspaceId } = hold.record;
  const key = archiveKey(id);
  const at = new Date(hold.record.createdAt);
  await sink.write(await wholeEntry('tags.json', tagsJson, at, written));
  // No step ends here, for a part that ends before the last one must not be small.
  const last = await writeSums(running);
  const checksums: { path: string; sha256: string }[] = [];
  for await (const { sums: path, sha256 } of stepsOf(parts, id)) checksums.push({ path, sha256 });
  checksums.push({ path: last.sums, sha256: last.sha256 });
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
  await sink.write(archiveEnd(written.entries, offset, size));
  await sink.flush();
  if (!(await isWhole(running, key))) return;
  const stored = await parts.bytes.completeParts(key, hold.record.upload ?? '');
  const now = Date.now();
  const { resources, files, failed, faults } = running;
  await hold.save({
    ...{ resources, files, failed, faults, shown: { resources, failed, files } },
    status: failed > 0 ? 'completed_with_errors' : 'completed',
    sizeBytes: stored.sizeBytes,
    sha256: stored.sha256,
    finishedAt: new Date(now).toISOString(),
    expiresAt: new Date(now + DAYS_KEPT * DAY_MS).toISOString(),
    activeKey: undefined,
    leaseUntil: undefined,
  });
  await hold.end();
  await removeSteps(parts, id);
  await expireEarlier(parts, workspaceId, id);
}

/**
 * Whether the parts are those of this archive. Of what a dead process had put behind its last step there may be more
 * than came again, when a file has become smaller meanwhile: all is put anew then.
 */
async function isWhole({ parts, hold, sink }: Running, key: string): Promise<boolean> {
  const upload = hold.record.upload ?? '';
  const there = await parts.bytes.parts(key, upload);
  if (there.length <= sink.parts) return true;
  await parts.bytes.abortParts(key, upload);
  const none = { upload: undefined, cursor: '', parts: 0, offset: 0, entries: 0, steps: 0, shown: undefined };
  const again = {
    resources: 0,
    files: 0,
    failed: 0,
    faults: [],
    status: 'queued' as const,
    leaseUntil: new Date().toISOString(),
  };
  await hold.end();
  await removeSteps(parts, hold.record.id);
  await hold.save({ ...none, ...again });
  return false;
}

function manifestOf(
  { hold: { record }, resources, files, faults, written, failed }: Running,
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

/** Steps that are read at once. */
const PAGE = 50;

async function* stepsOf({ archiveSteps }: ArchiveParts, archiveId: string): AsyncGenerator<StepRecord> {
  let after: readonly (string | number | boolean)[] | undefined;
  for (;;) {
    const found: StepRecord[] = await archiveSteps.find({
      where: { archiveId },
      sort: ['number'],
      limit: PAGE,
      ...(after && { after }),
    });
    yield* found;
    const last = found.at(-1);
    if (last === undefined || found.length < PAGE) return;
    after = [last.number, last.id];
  }
}

/** Archives of a workspace that are kept although there is a newer one: none. */
async function expireEarlier(parts: ArchiveParts, workspaceId: string, id: string): Promise<void> {
  const found = await parts.archives.find({ where: { workspaceId }, sort: ['-createdAt'], limit: 20 });
  for (const record of found)
    if (record.id !== id && record.expiresAt !== undefined) await expireArchive(parts, record);
}
