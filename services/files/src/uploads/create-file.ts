import { fileIdOf } from '@commonplace/kit/id';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import { actorMessage } from '@commonplace/platform/actors';
import type { CreateFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import type { FilePlace } from '@commonplace/proto/resources/v1/file_node_service.js';
import type { FileSummary, Resource } from '@commonplace/proto/resources/v1/resource.js';
import type { FileBefore } from '../storage/add-version.js';
import type { FileRecord } from '../storage/records.js';
import type { FileRequest } from './file-request.js';
import type { UploadParts } from './parts.js';

/** Holds the ids that a file creation uses, where the file goes, and what existed before. */
export interface Creation {
  readonly request: CreateFileRequest;
  readonly parsed: FileRequest;
  /** The existing file record, or the ids of a new file. */
  readonly file: FileBefore;
  /** Id of the version that the bytes become. */
  readonly revision: string;
  readonly blobId: string;
  readonly replaces: boolean;
}

/**
 * Derives the ids of a file creation from its request, so that a rerun after a lost race, or a retry under the same
 * idempotency key after a crash, creates the same file.
 */
export async function beginCreation(
  parts: UploadParts,
  request: CreateFileRequest,
  parsed: FileRequest,
  place: FilePlace,
  context: CallContext,
): Promise<Creation> {
  const { requestId, metadata } = context;
  const operation = metadata.idempotency?.id ?? requestId;
  const id = request.replaceResourceId ?? fileIdOf(operation);
  const before: FileRecord | undefined = await context.work.get(parts.files, id);
  const { tenant, workspaceId } = place;
  return {
    request,
    parsed,
    file: before ?? { id, tenant, workspaceId },
    revision: parts.ids.derive(`version:${operation}:${requestId}`),
    blobId: parts.ids.derive(`blob:${operation}:${requestId}`),
    replaces: request.replaceResourceId !== undefined,
  };
}

/**
 * Creates the node of a new file, or reports the new bytes to the node of an existing one. Returns the node as the
 * caller sees it.
 */
export async function putNode(
  parts: UploadParts,
  { request, parsed, file, revision, replaces }: Creation,
  summary: FileSummary,
  context: CallContext,
): Promise<Resource> {
  if (!replaces) {
    const { workspaceId, parentId, sourceUrl } = request;
    const made = { id: file.id, revision, name: parsed.name, workspaceId, parentId, file: summary, sourceUrl };
    const { resource } = await parts.nodes.createFileNode(made, context.onward);
    return resource as Resource;
  }
  if (summary.status === 'ready') {
    const actor = actorMessage(context.actor);
    const news = { bytesChanged: true, textChanged: false, actor };
    await parts.nodes.setFileState({ id: file.id, revision, file: summary, ...news }, context.onward);
  }
  return readNode(parts, file.id, context.onward);
}

export async function readNode(parts: UploadParts, id: string, call: CallOptions): Promise<Resource> {
  const { resource } = await parts.nodes.getFileNode({ id, toWrite: false }, call);
  return resource as Resource;
}
