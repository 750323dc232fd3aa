import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { ImportAccess } from '@commonplace/proto/files/v1/import.js';
import type { CreateImportRequest } from '@commonplace/proto/files/v1/import_service.js';
import type { ImportPlace } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { beginAttempt } from '../../acts/attempt.js';
import { measureAll } from '../../blobs/measure.js';
import { blobKey, layoutOf } from '../../domain/layout.js';
import { FileNotReady, StorageQuotaExceeded } from '../../errors.js';
import type { Upload } from '../../stores/records.js';
import type { ImportWish } from '../domain/wish.js';
import type { ImportParts } from '../parts.js';
import { FORMATS } from '../sources/index.js';
import { type ImportRecord, NO_COUNTS, NOTHING_DONE } from '../stores/records.js';
import { useSource } from './source-bytes.js';

/** A new import, and the upload that it waits for. */
export interface NewImport {
  readonly record: ImportRecord;
  readonly upload?: Upload;
}

/** Milliseconds within which the request has ended, or its process is gone. */
const SLACK_MS = 60_000;
const FIRST_LOOK_MS = 2_000;

/** Adds an import to this call's work; its id is derived from the request, so that a second run makes the same. */
export async function createImport(
  parts: ImportParts,
  request: CreateImportRequest,
  wish: ImportWish,
  place: ImportPlace,
  context: CallContext,
): Promise<NewImport> {
  const { requestId, metadata } = context;
  const operation = metadata.idempotency?.id ?? requestId;
  const id = derivedId(`import:${operation}`);
  const { from } = wish;
  const file = 'fileId' in from ? await fileOf(parts, from.fileId, context) : undefined;
  await requireQuota(parts, place.tenant, sizeOf(wish) ?? 0);
  const blobId = file?.blobId ?? ('bytes' in from ? await putInline(parts, id, from.bytes, context) : undefined);
  if (file !== undefined && !(await useSource(parts, context.work, file.blobId)))
    throw FileNotReady({ status: 'failed' });
  const fileName = file?.name ?? ('url' in from ? lastWord(from.url) : undefined);
  const record = context.work.insert(parts.imports, {
    ...recordOf(request, wish, place, context),
    id,
    ...(fileName !== undefined && { fileName }),
    name: request.name ?? nameFrom(fileName, wish),
    status: 'upload' in from ? 'pending_upload' : 'queued',
    ...('upload' in from && { phase: 'upload' as const }),
    ...(blobId !== undefined && { blobId }),
    ...('url' in from && { url: from.url }),
  });
  if (!('upload' in from)) return { record };
  return { record, upload: await beginUpload(parts, record, from.upload, context) };
}

function recordOf(
  request: CreateImportRequest,
  { sourceType, conflict, options }: ImportWish,
  { tenant, workspaceId }: ImportPlace,
  { caller, actor }: CallContext,
): Omit<ImportRecord, 'version' | 'id' | 'name' | 'status'> {
  const now = new Date().toISOString();
  const { parentId, dryRun } = request;
  const inherits = request.access === ImportAccess.INHERIT || (request.access === ImportAccess.UNSPECIFIED && parentId);
  return {
    tenant,
    orgId: tenant === workspaceId ? '' : tenant,
    workspaceId,
    ...(parentId !== undefined && { parentId }),
    sourceType,
    named: request.name !== undefined,
    done: NOTHING_DONE,
    counts: NO_COUNTS,
    attempt: 1,
    scope: 'failed',
    warnings: [],
    access: inherits ? 'inherit' : 'private',
    restricted: !inherits,
    conflict,
    options,
    dryRun,
    userId: caller.userId,
    createdBy: actor,
    createdAt: now,
    queuedAt: now,
    leaseUntil: now,
  };
}

/** A file that the caller may read, with its present bytes. */
async function fileOf(parts: ImportParts, id: string, context: CallContext) {
  const { resource } = await parts.nodes.getFileNode({ id, toWrite: false }, context.onward);
  const file = await parts.files.get(id);
  const version = file?.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
  if (version === undefined) throw FileNotReady({ status: file?.status ?? 'processing' });
  return { blobId: version.blobId, name: resource?.name ?? version.name };
}

function sizeOf({ from }: ImportWish): number | undefined {
  if ('bytes' in from) return from.bytes.length;
  return 'upload' in from ? from.upload.sizeBytes : undefined;
}

async function requireQuota({ settings, usage }: ImportParts, tenant: string, more: number): Promise<void> {
  if (settings.quotaBytes === undefined) return;
  const used = (await usage.get(tenant))?.bytes ?? 0;
  if (used + more > settings.quotaBytes) {
    throw StorageQuotaExceeded({ used_bytes: used, quota_bytes: settings.quotaBytes });
  }
}

/** Stores bytes that came in the request. */
async function putInline(parts: ImportParts, id: string, bytes: Buffer, context: CallContext): Promise<string> {
  const blobId = derivedId(`import-blob:${id}:${context.requestId}`);
  const measured = await measureAll([bytes]);
  const forMs = Math.max(context.deadline - Date.now(), 0) + SLACK_MS;
  const intent = await beginAttempt(parts, { fileId: id, revision: id, blobId }, forMs);
  await parts.bytes.put(blobKey(blobId), [bytes], measured);
  context.work.insert(parts.blobs, { id: blobId, ...measured, uses: 1 });
  context.work.remove(parts.intents, intent);
  return blobId;
}

/** The upload that an import waits for, in the machinery of files. */
async function beginUpload(
  parts: ImportParts,
  { id, tenant, workspaceId, name }: ImportRecord,
  { sizeBytes, sha256 }: { readonly sizeBytes?: number | undefined; readonly sha256?: string | undefined },
  context: CallContext,
): Promise<Upload> {
  const { settings } = parts;
  const uploadId = derivedId(`import-upload:${id}:${context.requestId}`);
  const blobId = derivedId(`import-blob:${id}:${context.requestId}`);
  const inParts = sizeBytes !== undefined && sizeBytes > settings.singleBytes;
  const intent = await beginAttempt(parts, { fileId: id, revision: uploadId, blobId }, SLACK_MS);
  const partsId = inParts ? await parts.bytes.beginParts(blobKey(blobId)) : undefined;
  const now = Date.now();
  const after = (ms: number) => new Date(now + ms).toISOString();
  const upload = context.work.insert(parts.uploads, {
    id: uploadId,
    tenant,
    workspaceId,
    fileId: id,
    importId: id,
    replaces: false,
    how: inParts ? 'parts' : 'single',
    name,
    sizeBytes,
    sha256,
    ...(inParts ? layoutOf(sizeBytes, settings.partBytes) : {}),
    partsId,
    blobId,
    attempts: 0,
    lookAt: after(FIRST_LOOK_MS),
    expiresAt: after(settings.uploadHours * 3_600_000),
    actor: context.actor,
    createdAt: after(0),
  });
  context.work.remove(parts.intents, intent);
  return upload;
}

function lastWord(url: string): string | undefined {
  const word = new URL(url).pathname.split('/').findLast((part) => part !== '');
  if (word === undefined) return undefined;
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

/** What an import is called whose request has no name. */
function nameFrom(fileName: string | undefined, { sourceType }: ImportWish): string {
  const name = fileName?.replace(/\.[A-Za-z0-9]{1,8}$/, '').trim();
  if (name !== undefined && name !== '') return [...name].slice(0, 255).join('');
  const format = FORMATS[sourceType]?.archive === true ? sourceType.replace('_zip', '') : sourceType;
  return `Import of ${format}`;
}
