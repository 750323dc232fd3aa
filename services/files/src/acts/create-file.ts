import { derivedId } from '@commonplace/kit/id';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import type { CreateFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import type { FilePlace } from '@commonplace/proto/resources/v1/file_node_service.js';
import type { FileSummary, Resource } from '@commonplace/proto/resources/v1/resource.js';
import type { Wish } from '../domain/wish.js';
import type { Parts } from '../parts.js';
import type { FileRecord } from '../stores/records.js';
import type { FileBefore } from './add-version.js';
import { actorMessage } from './tell.js';

/** A creation under way: which ids it uses, where it goes, and what was there before. */
export interface Creation {
  readonly request: CreateFileRequest;
  readonly wish: Wish;
  /** The file as it was, or what a new one begins with. */
  readonly file: FileBefore;
  /** The version that its bytes become. */
  readonly revision: string;
  readonly blobId: string;
  readonly replaces: boolean;
}

/**
 * Ids are derived from the request: run again on a lost race, or sent again under its key after a crash, it makes
 * the same file.
 */
export async function beginCreation(
  parts: Parts,
  request: CreateFileRequest,
  wish: Wish,
  place: FilePlace,
  context: CallContext,
): Promise<Creation> {
  const { requestId, metadata } = context;
  const operation = metadata.idempotency?.id ?? requestId;
  const id = request.replaceResourceId ?? derivedId(`file:${operation}`);
  const before: FileRecord | undefined = await context.work.get(parts.files, id);
  const { tenant, workspaceId } = place;
  return {
    request,
    wish,
    file: before ?? { id, tenant, workspaceId },
    revision: derivedId(`version:${operation}:${requestId}`),
    blobId: derivedId(`blob:${operation}:${requestId}`),
    replaces: request.replaceResourceId !== undefined,
  };
}

/** Makes the node of a new file, or tells that of a file of its new bytes. Gives it as the caller sees it. */
export async function putNode(
  parts: Parts,
  { request, wish, file, revision, replaces }: Creation,
  summary: FileSummary,
  context: CallContext,
): Promise<Resource> {
  if (!replaces) {
    const { workspaceId, parentId, sourceUrl } = request;
    const made = { id: file.id, revision, name: wish.name, workspaceId, parentId, file: summary, sourceUrl };
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

export async function readNode(parts: Parts, id: string, call: CallOptions): Promise<Resource> {
  const { resource } = await parts.nodes.getFileNode({ id, toWrite: false }, call);
  return resource as Resource;
}
