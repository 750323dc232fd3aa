import { inWork } from '@commonplace/kit/store';
import { blobKey, uploadKey } from '../domain/layout.js';
import type { Parts } from '../parts.js';
import type { Upload } from '../stores/records.js';
import { releaseVersion } from './release.js';

/** Versions of a file that one unit takes away. */
const CHUNK = 200;

/** Takes a file away whose node is gone, with all that it has or waits for. */
export async function purgeFile(parts: Parts, fileId: string): Promise<void> {
  for (const upload of await uploadsOf(parts, fileId)) await dropUpload(parts, upload);
  for (let more = true; more; ) {
    more = await inWork(parts.store, async (work) => {
      const versions = await parts.versions.find({ where: { fileId }, sort: ['number'], limit: CHUNK });
      for (const version of versions) await releaseVersion(parts, work, version);
      const file = await work.get(parts.files, fileId);
      if (file !== undefined && versions.length < CHUNK) work.remove(parts.files, file);
      return versions.length === CHUNK;
    });
  }
}

export function uploadsOf(parts: Parts, fileId: string): Promise<Upload[]> {
  return parts.uploads.find({ where: { fileId }, limit: 100 });
}

/** Forgets an upload and what was put of it. */
export async function dropUpload(parts: Parts, upload: Upload): Promise<void> {
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.uploads, upload.id);
    if (present !== undefined) work.remove(parts.uploads, present);
  });
  await dropBytes(parts, upload);
}

/** Deletes what was put of an upload that has no record any more. */
export async function dropBytes(parts: Parts, { id, how, partsId, blobId }: Upload): Promise<void> {
  if (how === 'parts' && partsId !== undefined) await parts.bytes.abortParts(blobKey(blobId), partsId);
  if (how === 'single' && !parts.bytes.exclusive) await parts.bytes.delete(uploadKey(id));
}
