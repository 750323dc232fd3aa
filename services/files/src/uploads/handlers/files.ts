import { AppError, invalidField } from '@commonplace/kit/errors';
import type { CallContext, CallOptions, Handlers } from '@commonplace/kit/rpc';
import {
  type CreateFileRequest,
  type CreateFileResponse,
  Disposition,
  type FileLink,
  type FileService,
  type GetFileRequest,
} from '@commonplace/proto/files/v1/file_service.js';
import type { FilePlace } from '@commonplace/proto/resources/v1/file_node_service.js';
import { measureAll } from '../../blobs/measure.js';
import { requireExpected, type StoredBytes, WrongBytes } from '../../blobs/port.js';
import { linkTo } from '../../downloads/link.js';
import { FileNotReady } from '../../errors.js';
import type { Upload } from '../../storage/records.js';
import { fileMessage } from '../../storage/wire.js';
import { beginUpload } from '../begin-upload.js';
import { missingNumbers, missingParts } from '../complete.js';
import { beginCreation, readNode } from '../create-file.js';
import { createInline } from '../create-inline.js';
import { type FileRequest, readFileRequest } from '../file-request.js';
import type { UploadParts } from '../parts.js';
import { uploadsOf } from '../purge.js';
import { signUpload } from '../sign-upload.js';
import { refusalOf } from '../wrong-bytes.js';

export function createFileHandlers(parts: UploadParts): Handlers<FileService> {
  return {
    createFile: (request, context) =>
      request.resumeResourceId === undefined
        ? createFile(parts, request, context)
        : resumeUpload(parts, request, request.resumeResourceId, context),
    getFile: (request, context) => getFile(parts, request, context),
  };
}

async function createFile(
  parts: UploadParts,
  request: CreateFileRequest,
  context: CallContext,
): Promise<CreateFileResponse> {
  const { parsed, place } = await admit(parts, request, context);
  const inline = typeof parsed.from === 'object' && 'bytes' in parsed.from ? parsed.from.bytes : undefined;
  const measured = inline === undefined ? undefined : await requireAsAnnounced(parsed, inline);
  const creation = await beginCreation(parts, request, parsed, place, context);
  return inline === undefined || measured === undefined
    ? beginUpload(parts, creation, context)
    : createInline(parts, creation, inline, measured, context);
}

/**
 * Checks a creation in order of precedence: access first, then faults of the request, then conflicts with the present
 * state.
 */
async function admit(
  parts: UploadParts,
  request: CreateFileRequest,
  context: CallContext,
): Promise<{ parsed: FileRequest; place: FilePlace }> {
  const { workspaceId, parentId, replaceResourceId, sourceUrl } = request;
  const checked = parts.nodes.checkFilePlace({ workspaceId, parentId, replaceResourceId }, conditional(context));
  const [place] = await Promise.allSettled([checked]);
  if (place.status === 'rejected' && !isConflict(place.reason)) throw place.reason;
  const isNarrowed = sourceUrl !== undefined && place.status === 'fulfilled';
  const guard = isNarrowed ? await parts.guard.of(place.value.tenant) : parts.guard;
  const parsed = await readFileRequest(request, parts.settings, guard);
  if (place.status === 'rejected') throw place.reason;
  return { parsed, place: place.value };
}

/** Returns whether a place is refused for its present state, which faults of the request precede. */
function isConflict(error: unknown): boolean {
  return error instanceof AppError && error.code === 'ABORTED';
}

/** Returns the options of a call that passes the caller's precondition (`baseVersion`) on. */
function conditional(context: CallContext): CallOptions {
  const { metadata, deadline, signal } = context.onward;
  return { metadata: { ...metadata, baseVersion: context.metadata.baseVersion }, deadline, signal };
}

/** Measures inline bytes. Throws when their size or checksum is not what was announced. */
async function requireAsAnnounced({ sizeBytes, sha256 }: FileRequest, bytes: Buffer): Promise<StoredBytes> {
  const stored = await measureAll([bytes]);
  try {
    requireExpected(stored, { sizeBytes, sha256 });
  } catch (error) {
    throw error instanceof WrongBytes ? refusalOf(error, sizeBytes) : error;
  }
  return stored;
}

/** Signs URLs for the missing parts of an upload again; completes it in the background when none is missing. */
async function resumeUpload(
  parts: UploadParts,
  request: CreateFileRequest,
  id: string,
  context: CallContext,
): Promise<CreateFileResponse> {
  requireAlone(request);
  const { resource } = await parts.nodes.getFileNode({ id, toWrite: true }, context.onward);
  const file = await parts.files.get(id);
  const upload = (await uploadsOf(parts, id)).find(({ how }) => how !== 'fetch');
  if (file === undefined || upload === undefined) throw FileNotReady({ status: file?.status ?? 'failed' });
  const version = file.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
  context.reply.status = 200;
  const missing = upload.how === 'parts' ? await missingNumbers(parts, upload) : undefined;
  if (missing?.length === 0) parts.background('upload.failed', () => parts.uploadQueue.runNow(upload));
  return { resource, file: fileMessage(file, version), upload: await signUpload(parts, upload, missing) };
}

function requireAlone({ resumeResourceId: _, ...rest }: CreateFileRequest): void {
  const given = Object.values(rest).filter((value) => value !== undefined && value !== '');
  if (given.length === 0) return;
  throw invalidField(
    'resume_resource_id',
    'ambiguous_target',
    'can only be sent alone: an upload is resumed as it was begun.',
  );
}

async function getFile(parts: UploadParts, request: GetFileRequest, context: CallContext): Promise<FileLink> {
  const { resourceId } = request;
  const resource = await readNode(parts, resourceId, context.onward);
  await lookAtBucket(parts, resourceId);
  const file = await parts.files.get(resourceId);
  const version = file?.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
  if (file === undefined || version === undefined) {
    throw FileNotReady({ status: file?.status ?? 'processing', ...(file?.error && { error: file.error }) });
  }
  const link = await linkTo(parts, version, resource.name, request);
  const disposition = link.inline ? Disposition.INLINE : Disposition.ATTACHMENT;
  return {
    resourceId,
    name: resource.name,
    contentType: version.contentType,
    sizeBytes: version.sizeBytes,
    checksumSha256: version.sha256,
    downloadUrl: link.url,
    expiresAt: link.expiresAt,
    disposition,
    thumbnailUrl: link.thumbnailUrl,
    file: fileMessage(file, version),
  };
}

/**
 * Completes an upload whose bytes are all in the bucket. A bucket sends no notification, so a reader of the file would
 * otherwise wait for the next poll.
 */
async function lookAtBucket(parts: UploadParts, fileId: string): Promise<void> {
  if (parts.bytes.exclusive) return;
  for (const upload of await uploadsOf(parts, fileId)) {
    if (upload.how === 'fetch' || isHeld(upload)) continue;
    if ((await missingParts(parts, upload)) === 0) await parts.uploadQueue.runNow(upload);
  }
}

/** Returns whether a worker holds a lease on the upload at this moment. */
function isHeld({ lookAt, lease }: Upload): boolean {
  return lease !== undefined && lease.holder !== '' && Date.parse(lookAt) > Date.now();
}
