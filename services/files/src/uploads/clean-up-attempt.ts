import { AppError } from '@commonplace/kit/errors';
import { attemptId, endAttempt, leaveAttempt } from '../storage/attempt.js';
import type { Intent } from '../storage/records.js';
import { trashBytes } from '../storage/release.js';
import { updateNode } from '../storage/update-node.js';
import type { UploadParts } from './parts.js';
import { purgeFile } from './purge.js';

/**
 * Cleans up after an attempt that did not complete: updates the node with what the file holds, or deletes the node if
 * there is no file, and moves bytes that became no version to the trash.
 */
export async function cleanUpAttempt(parts: UploadParts, intent: Intent): Promise<void> {
  const { fileId, revision, blobId } = intent;
  const present = await parts.intents.get(intent.id);
  // Another run may have resumed the attempt since it was found.
  if (present?.until !== intent.until || present.process !== intent.process) return;
  const file = await parts.files.get(fileId);
  if (file === undefined) await parts.nodes.dropFileNode({ id: fileId, revision }, parts.systemCall());
  else if (!(await updateNode(parts, file, { bytesChanged: true }))) await purgeFile(parts, fileId);
  // An upload that is still open continues with the bytes that were assembled for it.
  const open = await parts.uploads.get(revision);
  if (open?.blobId !== blobId && (await parts.blobs.get(blobId)) === undefined) await trashBytes(parts, blobId);
  await endAttempt(parts, intent);
}

/** Error codes after which the call may have taken effect nevertheless. */
const UNKNOWN: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL']);

/** Runs one step of an attempt. When it is refused, the earlier steps are undone soon and not by the next sweep. */
export async function orCleanUp<T>(parts: UploadParts, intent: Intent, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AppError && !UNKNOWN.has(error.code)) await abandonAttempt(parts, intent);
    throw error;
  }
}

/** Abandons an attempt if it was begun: it is cleaned up soon and not by the next sweep. */
export async function abandonAttempt(
  parts: UploadParts,
  about: Pick<Intent, 'fileId' | 'revision' | 'blobId'>,
): Promise<void> {
  const intent = await parts.intents.get(attemptId(about));
  if (intent === undefined) return;
  await leaveAttempt(parts, intent);
  parts.background('attempt.not_settled', async () => {
    const left = await parts.intents.get(intent.id);
    if (left !== undefined) await cleanUpAttempt(parts, left);
  });
}
