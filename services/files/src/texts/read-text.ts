import { inWork } from '@commonplace/kit/store';
import { BlobMissing } from '../blobs/port.js';
import { blobKey } from '../domain/layout.js';
import { type Extraction, MediaFailure } from '../media/index.js';
import { withLocalCopy } from '../storage/local-copy.js';
import type { Version } from '../storage/records.js';
import { updateNode } from '../storage/update-node.js';
import type { TextParts } from './parts.js';

/** Extracts the text of a version that is pending, stores it, and reports it to the node so that search indexes it. */
async function readText(parts: TextParts, versionId: string): Promise<void> {
  const version = await parts.versions.get(versionId);
  if (version?.text !== 'pending') return;
  const found = await extract(parts, version);
  if (found === 'later') return;
  const file = await inWork(parts.store, async (work) => {
    const present = await work.get(parts.versions, versionId);
    if (present?.text !== 'pending') return undefined;
    const { text, pages, pageStarts } = found;
    work.replace(parts.versions, present, { ...present, text: text === undefined ? 'failed' : 'done', pages });
    if (text !== undefined && text !== '') {
      work.insert(parts.texts, { id: versionId, tenant: present.tenant, text, pageStarts });
    }
    const of = await work.get(parts.files, present.fileId);
    return of?.versionId === versionId ? of : undefined;
  });
  if (file !== undefined) await updateNode(parts, file, { textChanged: true });
}

async function extract(
  parts: TextParts,
  { tenant, blobId, contentType }: Version,
): Promise<Partial<Extraction> | 'later'> {
  try {
    return await withLocalCopy(parts.bytes, blobKey(blobId), (path) =>
      parts.media.extractText(tenant, path, contentType),
    );
  } catch (error) {
    // A failure that the file itself causes would repeat.
    if (error instanceof BlobMissing || (error instanceof MediaFailure && error.reason !== 'closed')) return {};
    if (error instanceof MediaFailure) return 'later';
    throw error;
  }
}

/** Texts that one pass tries to extract. */
const AT_ONCE = 20;

/**
 * Returns a function that extracts texts that are still pending because of a crash or a failing store. Each call
 * continues where the last one ended, so that texts whose extraction keeps failing do not keep others waiting.
 */
export function createPendingTexts(parts: TextParts): (before: string) => Promise<void> {
  let after: readonly string[] | undefined;
  let isRunning = false;

  async function readNext(before: string): Promise<void> {
    const where = { text: 'pending', createdAt: { lt: before } } as const;
    const pending = await parts.versions.find({ where, sort: ['createdAt'], limit: AT_ONCE, after });
    const last = pending.at(-1);
    after = last === undefined || pending.length < AT_ONCE ? undefined : [last.createdAt, last.id];
    for (const { id } of pending) {
      // An error such as a tenant's exceeded limit of waiting files does not stop the others.
      await readText(parts, id).catch((error) => parts.log.warn('text.failed', { version_id: id, error }));
    }
  }

  return async (before) => {
    if (isRunning) return;
    isRunning = true;
    await readNext(before).finally(() => {
      isRunning = false;
    });
  };
}

/** Extracts the text of a version in the background, if it has any. */
export function readTextSoon(parts: TextParts, versionId: string): void {
  parts.background('text.failed', () => readText(parts, versionId));
}
