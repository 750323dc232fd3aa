import { AppError, isOfOlderPeer } from '@commonplace/kit/errors';
import { ExpiredLink } from '../errors.js';
import type { Upload } from '../storage/records.js';
import type { UploadParts } from './parts.js';

/**
 * Throws unless the bytes of an upload may become a version of its file now: WorkspaceArchived, ResourceLocked, or
 * ExpiredLink if the file is gone or in the trash, or if the person who began the upload may no longer write it. An
 * import checks its place itself.
 */
export async function requireWriter(
  parts: Pick<UploadParts, 'nodes' | 'systemCall'>,
  { fileId, importId, userId }: Pick<Upload, 'fileId' | 'importId' | 'userId'>,
): Promise<void> {
  if (importId !== undefined) return;
  try {
    await parts.nodes.checkFileWriter({ id: fileId, userId }, parts.systemCall());
  } catch (error) {
    // During an upgrade, uploads are accepted as by the version before.
    if (isOfOlderPeer(error)) return;
    throw error instanceof AppError && error.code === 'NOT_FOUND' ? ExpiredLink() : error;
  }
}

/** Returns why the bytes of an upload may not become a version now; undefined if they may. */
export async function refusedWriter(parts: UploadParts, upload: Upload): Promise<AppError | undefined> {
  try {
    await requireWriter(parts, upload);
    return undefined;
  } catch (error) {
    if (error instanceof AppError && REFUSALS.has(error.code)) return error;
    throw error;
  }
}

const REFUSALS: ReadonlySet<AppError['code']> = new Set(['NOT_FOUND', 'ABORTED', 'FAILED_PRECONDITION']);
