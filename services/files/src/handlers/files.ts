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
import { beginUpload } from '../acts/begin-upload.js';
import { beginCreation, readNode } from '../acts/create-file.js';
import { createInline } from '../acts/create-inline.js';
import { linkTo } from '../acts/link.js';
import { uploadsOf } from '../acts/purge.js';
import { signUpload } from '../acts/sign-upload.js';
import { measureAll } from '../blobs/measure.js';
import { requireExpected, type Stored, WrongBytes } from '../blobs/port.js';
import { readWish, type Wish } from '../domain/wish.js';
import { ChecksumMismatch, FileNotReady, StorageQuotaExceeded, UploadIncomplete } from '../errors.js';
import { completeUpload, missingNumbers, missingParts } from '../jobs/complete.js';
import type { Parts } from '../parts.js';
import type { Upload } from '../stores/records.js';
import { fileMessage } from './present.js';

export function createFileHandlers(parts: Parts): Handlers<FileService> {
  return {
    createFile: (request, context) =>
      request.resumeResourceId === undefined
        ? createFile(parts, request, context)
        : resumeUpload(parts, request, request.resumeResourceId, context),
    getFile: (request, context) => getFile(parts, request, context),
  };
}

async function createFile(parts: Parts, request: CreateFileRequest, context: CallContext): Promise<CreateFileResponse> {
  const { wish, place } = await admit(parts, request, context);
  const inline = typeof wish.from === 'object' && 'bytes' in wish.from ? wish.from.bytes : undefined;
  const measured = inline === undefined ? undefined : await requireAsAnnounced(wish, inline);
  await requireQuota(parts, place.tenant, wish.sizeBytes ?? measured?.sizeBytes ?? 0);
  const creation = await beginCreation(parts, request, wish, place, context);
  return inline === undefined || measured === undefined
    ? beginUpload(parts, creation, context)
    : createInline(parts, creation, inline, measured, context);
}

/** The gates in their order: what the caller may not see or do, what the request has wrong, the present state. */
async function admit(
  parts: Parts,
  request: CreateFileRequest,
  context: CallContext,
): Promise<{ wish: Wish; place: FilePlace }> {
  let wish: Wish | undefined;
  let faults: unknown;
  try {
    wish = readWish(request, parts.settings, parts.guard);
  } catch (error) {
    faults = error;
  }
  const { workspaceId, parentId, replaceResourceId } = request;
  const place = await parts.nodes
    .checkFilePlace({ workspaceId, parentId, replaceResourceId }, conditional(context))
    .catch((error) => {
      const state = error instanceof AppError && error.code === 'ABORTED';
      throw state && faults !== undefined ? faults : error;
    });
  if (wish === undefined) throw faults;
  return { wish, place };
}

/** Options of a call that asks for the same precondition. */
function conditional(context: CallContext): CallOptions {
  const { metadata, deadline, signal } = context.onward;
  return { metadata: { ...metadata, baseVersion: context.metadata.baseVersion }, deadline, signal };
}

/** Bytes as they came, which have to be what was announced. */
async function requireAsAnnounced({ sizeBytes, sha256 }: Wish, bytes: Buffer): Promise<Stored> {
  const stored = await measureAll([bytes]);
  try {
    requireExpected(stored, { sizeBytes, sha256 });
  } catch (error) {
    throw error instanceof WrongBytes ? refusalOf(error, sizeBytes) : error;
  }
  return stored;
}

/** Bytes that are not what was announced, as a request is answered. */
export function refusalOf({ what, stored }: WrongBytes, expected: number | undefined): AppError {
  return what === 'size'
    ? UploadIncomplete({ received_bytes: stored.sizeBytes, expected_bytes: expected })
    : ChecksumMismatch({ received: stored.sha256 });
}

async function requireQuota({ settings, usage }: Parts, tenant: string, more: number): Promise<void> {
  if (settings.quotaBytes === undefined) return;
  const used = (await usage.get(tenant))?.bytes ?? 0;
  if (used + more > settings.quotaBytes) {
    throw StorageQuotaExceeded({ used_bytes: used, quota_bytes: settings.quotaBytes });
  }
}

/** Signs what is missing of an upload once more, or finds that nothing is. */
async function resumeUpload(
  parts: Parts,
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
  if (missing?.length === 0) parts.background('upload.failed', () => completeUpload(parts, upload));
  return { resource, file: fileMessage(file, version), upload: await signUpload(parts, upload, missing) };
}

function requireAlone({ resumeResourceId: _, ...rest }: CreateFileRequest): void {
  const given = Object.values(rest).filter((value) => value !== undefined && value !== '');
  if (given.length === 0) return;
  throw invalidField('resume_resource_id', 'ambiguous_target', 'An upload is gone on with as it was begun.');
}

async function getFile(parts: Parts, request: GetFileRequest, context: CallContext): Promise<FileLink> {
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

/** Nobody tells when a bucket has all of an upload: who asks for the file need not wait until it is looked at. */
async function lookAtBucket(parts: Parts, fileId: string): Promise<void> {
  if (parts.bytes.exclusive) return;
  for (const upload of await uploadsOf(parts, fileId)) {
    if (upload.how === 'fetch' || isHeld(upload)) continue;
    if ((await missingParts(parts, upload)) === 0) await completeUpload(parts, upload);
  }
}

/** Whether somebody is at it: what is looked at from time to time is looked at sooner than a lease ends. */
function isHeld({ lookAt, attempts }: Upload): boolean {
  return attempts > 0 && Date.parse(lookAt) > Date.now();
}
