import type { Parts } from '../parts.js';
import type { Intent } from '../stores/records.js';
import { endAttempt } from './attempt.js';
import { purgeFile } from './purge.js';
import { deleteBytes } from './release.js';
import { tell } from './tell.js';

/**
 * Settles what an attempt has left that did not come to its end: the node is told what the file holds, or goes
 * where there is none, and bytes that became no version are deleted.
 */
export async function settle(parts: Parts, intent: Intent): Promise<void> {
  const { fileId, revision, blobId } = intent;
  const file = await parts.files.get(fileId);
  if (file === undefined) await parts.nodes.dropFileNode({ id: fileId, revision }, parts.systemCall());
  else if (!(await tell(parts, file, { bytesChanged: true }))) await purgeFile(parts, fileId);
  // An upload that is still open goes on with what was put together of it.
  const open = await parts.uploads.get(revision);
  if (open?.blobId !== blobId && (await parts.blobs.get(blobId)) === undefined) await deleteBytes(parts, blobId);
  await endAttempt(parts, intent);
}
