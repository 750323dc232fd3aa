import type { Readable } from 'node:stream';
import { newId } from '@commonplace/kit/id';
import { blobKey } from '../../domain/layout.js';
import { kindOf, SNIFF_BYTES } from '../../media/index.js';
import { addVersion } from '../../storage/add-version.js';
import { beginAttempt, endAttempt } from '../../storage/attempt.js';
import { createMeter, isOverQuota, metered } from '../../storage/quota.js';
import { deleteBytes } from '../../storage/release.js';
import { readTextSoon } from '../../texts/read-text.js';
import { entryFault } from '../bundle/unpack.js';
import type { ImportParts } from '../parts.js';
import { ImportFault } from '../sources/port.js';
import type { Files, PreparedFile, Run } from './run-parts.js';

/** Milliseconds that storing the bytes of one file and creating its node may take. */
const ATTEMPT_MS = 3_600_000;

/** Creates the files of an import. The sweeper cleans up after a crash, as for any upload. */
export function createFiles(parts: ImportParts): Files {
  async function store(run: Run, seq: number, id: string): Promise<PreparedFile> {
    const { entry, path, sizeBytes: saidBytes = 0 } = run.items.item(seq);
    const sizeBytes = entry === undefined ? undefined : run.entryBytes(entry);
    try {
      return await storeBytes(run, seq, id, sizeBytes, sizeBytes ?? saidBytes);
    } catch (error) {
      if (isOverQuota(error)) throw new ImportFault('storage_quota_exceeded', error.message, true, { cause: error });
      throw entryFault(error, entry ?? path);
    }
  }

  async function storeBytes(
    run: Run,
    seq: number,
    id: string,
    sizeBytes: number | undefined,
    expected: number,
  ): Promise<PreparedFile> {
    const { name } = run.items.item(seq);
    const revision = newId();
    const blobId = parts.ids.create();
    const account = { tenant: run.record.tenant, account: 'files' } as const;
    const reservation = { ...account, bytes: expected };
    const intent = await beginAttempt(parts, { fileId: id, revision, blobId }, ATTEMPT_MS, reservation);
    try {
      const head: Buffer[] = [];
      const meter = createMeter(parts, intent, account, intent.reserved?.bytes ?? 0);
      const stored = await parts.bytes.put(blobKey(blobId), metered(watched(run, seq, head), meter), { sizeBytes });
      const kind = await kindOf(Buffer.concat(head), name, undefined);
      const summary = { contentType: kind.contentType, sizeBytes: stored.sizeBytes, status: 'ready' };
      const actor = { type: 'import', id: run.record.id, name: run.record.name } as const;
      return {
        id,
        summary,
        revision,
        fresh: { bytes: { ...stored, ...kind, revision, blobId, name, actor }, intent },
      };
    } catch (error) {
      await endAttempt(parts, intent);
      throw error;
    }
  }

  return {
    async prepare(run, seq) {
      const id = run.items.resourceId(seq);
      const file = await parts.files.get(id);
      const version = file?.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
      if (version === undefined || run.existing.conflicts.has(seq)) return store(run, seq, id);
      const summary = { contentType: version.contentType, sizeBytes: version.sizeBytes, status: 'ready' };
      return { id, summary, revision: version.id };
    },

    async keep(work, { record }, files) {
      const { tenant, workspaceId } = record;
      for (const { id, fresh } of files) {
        if (fresh === undefined) continue;
        const before = await work.get(parts.files, id);
        const intent = (await work.get(parts.intents, fresh.intent.id)) ?? fresh.intent;
        const reserved = intent.reserved?.bytes ?? 0;
        await addVersion(parts, work, before ?? { id, tenant, workspaceId }, fresh.bytes, reserved);
        work.remove(parts.intents, intent);
      }
    },

    kept(_run, files) {
      for (const { fresh } of files) if (fresh !== undefined) readTextSoon(parts, fresh.bytes.revision);
    },

    async drop(_run, files) {
      for (const { fresh } of files) {
        if (fresh === undefined) continue;
        await deleteBytes(parts, fresh.bytes.blobId);
        await endAttempt(parts, fresh.intent);
      }
    },
  };
}

/** Yields the bytes of an item and keeps the first ones in `head` for detecting the content type. */
async function* watched(run: Run, seq: number, head: Buffer[]): AsyncGenerator<Buffer> {
  let seen = 0;
  for await (const chunk of await openItem(run, seq)) {
    if (seen < SNIFF_BYTES) head.push(chunk as Buffer);
    seen += (chunk as Buffer).length;
    yield chunk as Buffer;
  }
}

function openItem({ bundle, items }: Run, seq: number): Promise<Readable> {
  const item = items.item(seq);
  if (item.entry !== undefined) return bundle.open(item.entry);
  if (items.source.openFile !== undefined) return items.source.openFile(item);
  throw new ImportFault('archive_entry_missing', `The bytes of ${item.path} are missing.`);
}
