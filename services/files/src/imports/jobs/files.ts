import type { Readable } from 'node:stream';
import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { FileSummary } from '@commonplace/proto/resources/v1/resource.js';
import { addVersion, type NewBytes } from '../../acts/add-version.js';
import { beginAttempt, endAttempt } from '../../acts/attempt.js';
import { kindOf, readTextSoon } from '../../acts/finish.js';
import { deleteBytes } from '../../acts/release.js';
import { blobKey } from '../../domain/layout.js';
import { SNIFF_BYTES } from '../../media/index.js';
import type { Intent } from '../../stores/records.js';
import { entryFault } from '../bundle/unpack.js';
import type { ImportParts } from '../parts.js';
import { ImportFault } from '../sources/port.js';
import type { Run } from './run-parts.js';

/** A file whose bytes are stored, and which is no file yet. */
export interface PreparedFile {
  readonly id: string;
  readonly summary: FileSummary;
  readonly revision: string;
  /** Absent where an earlier attempt has made it. */
  readonly fresh?: { readonly bytes: NewBytes; readonly intent: Intent; readonly expected: number };
}

export interface Files {
  /** Stores the bytes of an item. Its node has to be put before they become its version. */
  prepare(run: Run, seq: number): Promise<PreparedFile>;
  /** Makes the bytes of files that have their nodes their versions, in this unit. */
  keep(work: UnitOfWork, run: Run, files: readonly PreparedFile[]): Promise<void>;
  /** After the unit: their text may be read. */
  kept(run: Run, files: readonly PreparedFile[]): void;
  /** Drops the bytes of files that got no node. */
  drop(run: Run, files: readonly PreparedFile[]): Promise<void>;
}

/** Milliseconds that storing the bytes of one file and putting its node may take. */
const ATTEMPT_MS = 3_600_000;

/** The files of an import. What a crash leaves of them is settled as that of any upload. */
export function createFiles(parts: ImportParts): Files {
  // Bytes of each run that are stored or about to be, and that no version counts yet.
  const uncounted = new WeakMap<Run, number>();
  const count = (run: Run, sizeBytes: number) => void uncounted.set(run, (uncounted.get(run) ?? 0) + sizeBytes);

  async function store(run: Run, seq: number, id: string): Promise<PreparedFile> {
    const { entry, path, sizeBytes: saidBytes = 0 } = run.items.item(seq);
    const sizeBytes = entry === undefined ? undefined : run.entryBytes(entry);
    const expected = sizeBytes ?? saidBytes;
    count(run, expected);
    try {
      await requireQuota(parts, run.record.tenant, uncounted.get(run) ?? 0);
      return await storeBytes(run, seq, id, sizeBytes, expected);
    } catch (error) {
      count(run, -expected);
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
    const blobId = newId();
    const intent = await beginAttempt(parts, { fileId: id, revision, blobId }, ATTEMPT_MS);
    try {
      const head: Buffer[] = [];
      const stored = await parts.bytes.put(blobKey(blobId), watched(run, seq, head), { sizeBytes });
      const kind = await kindOf(Buffer.concat(head), name, undefined);
      const summary = { contentType: kind.contentType, sizeBytes: stored.sizeBytes, status: 'ready' };
      const actor = { type: 'import', id: run.record.id, name: run.record.name } as const;
      return {
        id,
        summary,
        revision,
        fresh: { bytes: { ...stored, ...kind, revision, blobId, name, actor }, intent, expected },
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
        await addVersion(parts, work, before ?? { id, tenant, workspaceId }, fresh.bytes);
        work.remove(parts.intents, fresh.intent);
      }
    },

    kept(run, files) {
      for (const { fresh } of files) {
        if (fresh === undefined) continue;
        count(run, -fresh.expected);
        readTextSoon(parts, fresh.bytes.revision);
      }
    },

    async drop(run, files) {
      for (const { fresh } of files) {
        if (fresh === undefined) continue;
        count(run, -fresh.expected);
        await deleteBytes(parts, fresh.bytes.blobId);
        await endAttempt(parts, fresh.intent);
      }
    },
  };
}

/** The bytes of an item, of which the first are kept to tell what they are. */
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
  throw new ImportFault('archive_entry_missing', `There are no bytes of ${item.path}.`);
}

async function requireQuota({ settings, usage }: ImportParts, tenant: string, more: number): Promise<void> {
  if (settings.quotaBytes === undefined) return;
  const used = (await usage.get(tenant))?.bytes ?? 0;
  if (used + more <= settings.quotaBytes) return;
  const message = `The files would take more than ${settings.quotaBytes} bytes.`;
  throw new ImportFault('storage_quota_exceeded', message, true);
}
