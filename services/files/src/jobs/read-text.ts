import { inWork } from '@commonplace/kit/store';
import { tell } from '../acts/tell.js';
import { blobKey } from '../domain/layout.js';
import { type Extraction, MediaFailure } from '../media/index.js';
import type { Parts } from '../parts.js';
import type { Version } from '../stores/records.js';
import { withLocalCopy } from './local-copy.js';

/** Reads the text of a version that waits for it, keeps it, and tells who searches. */
export async function readText(parts: Parts, versionId: string): Promise<void> {
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
  if (file !== undefined) await tell(parts, file, { textChanged: true });
}

async function extract(parts: Parts, { blobId, contentType }: Version): Promise<Partial<Extraction> | 'later'> {
  try {
    return await withLocalCopy(parts.bytes, blobKey(blobId), (path) => parts.media.extractText(path, contentType));
  } catch (error) {
    // What is the file's own fault would be so again.
    if (error instanceof MediaFailure && error.reason !== 'closed') return {};
    if (error instanceof MediaFailure) return 'later';
    throw error;
  }
}

/** Texts that one look takes on. */
const AT_ONCE = 20;

/** Reads what still waits: what a crash or a failing store has left. */
export async function readPendingTexts(parts: Parts, before: string): Promise<void> {
  const where = { text: 'pending', createdAt: { lt: before } } as const;
  const pending = await parts.versions.find({ where, sort: ['createdAt'], limit: AT_ONCE });
  for (const { id } of pending) await readText(parts, id);
}
