import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { traceparentNow } from '@commonplace/kit/telemetry';
import { foldName } from '@commonplace/kit/words';
import { ImportAccess } from '@commonplace/proto/files/v1/import.js';
import type { CreateImportRequest } from '@commonplace/proto/files/v1/import_service.js';
import type { ImportPlace } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { measureAll } from '../../blobs/measure.js';
import { blobKey, layoutOf } from '../../domain/layout.js';
import { FileNotReady } from '../../errors.js';
import { beginAttempt } from '../../storage/attempt.js';
import { settleBytes } from '../../storage/quota.js';
import type { Upload } from '../../storage/records.js';
import { lastSegmentOf } from '../domain/url-name.js';
import { FORMATS } from '../formats.js';
import type { ImportRequest } from '../import-request.js';
import type { ImportParts } from '../parts.js';
import { type ImportRecord, NO_COUNTS, NOTHING_DONE } from '../stores/records.js';
import { useSource } from './source-bytes.js';

/** Holds a new import, and the upload that it waits for, if any. */
interface NewImport {
  readonly record: ImportRecord;
  readonly upload?: Upload;
}

/** Milliseconds after which the request has ended or its process is gone. */
const ABANDONED_AFTER_MS = 60_000;
const FIRST_POLL_MS = 2_000;

function importId({ requestId, metadata }: CallContext): string {
  return derivedId(`import:${metadata.idempotency?.id ?? requestId}`);
}

/** Derives the ids of the blob and upload for bytes that come with a request or by the upload that it begins. */
function idsOf({ ids }: Pick<ImportParts, 'ids'>, id: string, { requestId }: CallContext) {
  return {
    uploadId: ids.derive(`import-upload:${id}:${requestId}`),
    blobId: ids.derive(`import-blob:${id}:${requestId}`),
  };
}

/** Returns the attempts that an earlier run of this call may have begun. */
export function attemptsOf(parts: Pick<ImportParts, 'ids'>, context: CallContext) {
  const fileId = importId(context);
  const { uploadId, blobId } = idsOf(parts, fileId, context);
  return [fileId, uploadId].map((revision) => ({ fileId, revision, blobId }));
}

/**
 * Inserts an import in this call's unit of work. Its id is derived from the request, so a rerun creates the same
 * import. Throws `file_not_ready` and `storage_quota_exceeded`.
 */
export async function createImport(
  parts: ImportParts,
  request: CreateImportRequest,
  parsed: ImportRequest,
  place: ImportPlace,
  context: CallContext,
): Promise<NewImport> {
  const id = importId(context);
  const { from } = parsed;
  const file = 'fileId' in from ? await fileOf(parts, from.fileId, context) : undefined;
  const blobId =
    file?.blobId ?? ('bytes' in from ? await putInline(parts, id, place.tenant, from.bytes, context) : undefined);
  if (file !== undefined && !(await useSource(parts, context.work, file.blobId, place.tenant)))
    throw FileNotReady({ status: 'failed' });
  const heldBytes = file?.sizeBytes ?? ('bytes' in from ? from.bytes.length : undefined);
  const fileName = file?.name ?? ('url' in from ? lastWord(from.url) : undefined);
  const record = context.work.insert(parts.imports, {
    ...recordOf(request, parsed, place, context),
    id,
    traceparent: traceparentNow(),
    ...(fileName !== undefined && { fileName }),
    ...named(request.name ?? nameFrom(fileName, parsed)),
    status: 'upload' in from ? 'pending_upload' : 'queued',
    ...('upload' in from && { phase: 'upload' as const }),
    ...(blobId !== undefined && { blobId, heldBytes }),
    ...('url' in from && { url: from.url }),
  });
  if (!('upload' in from)) return { record };
  return { record, upload: await beginUpload(parts, record, from.upload, context) };
}

const named = (name: string): Pick<ImportRecord, 'name' | 'nameFold'> => ({ name, nameFold: foldName(name) });

function recordOf(
  request: CreateImportRequest,
  { sourceType, conflict, options }: ImportRequest,
  { tenant, workspaceId }: ImportPlace,
  { caller, actor }: CallContext,
): Omit<ImportRecord, 'version' | 'id' | 'name' | 'nameFold' | 'status'> {
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

/** Returns the current bytes of a file that the caller may read. Throws `file_not_ready` when it has none. */
async function fileOf(parts: ImportParts, id: string, context: CallContext) {
  const { resource } = await parts.nodes.getFileNode({ id, toWrite: false }, context.onward);
  const file = await parts.files.get(id);
  const version = file?.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
  if (version === undefined) throw FileNotReady({ status: file?.status ?? 'processing' });
  return { blobId: version.blobId, sizeBytes: version.sizeBytes, name: resource?.name ?? version.name };
}

/** Stores bytes that came in the request. Returns the id of their blob. */
async function putInline(
  parts: ImportParts,
  id: string,
  tenant: string,
  bytes: Buffer,
  context: CallContext,
): Promise<string> {
  const { blobId } = idsOf(parts, id, context);
  const measured = await measureAll([bytes]);
  const forMs = Math.max(context.deadline - Date.now(), 0) + ABANDONED_AFTER_MS;
  const reservation = { tenant, account: 'sources', bytes: measured.sizeBytes } as const;
  const intent = await beginAttempt(parts, { fileId: id, revision: id, blobId }, forMs, reservation);
  await parts.bytes.put(blobKey(blobId), [bytes], measured);
  context.work.insert(parts.blobs, { id: blobId, ...measured, uses: 1 });
  await settleBytes(parts, context.work, reservation, intent.reserved?.bytes ?? 0);
  context.work.remove(parts.intents, intent);
  return blobId;
}

/** Begins the upload that an import waits for; it is handled like the upload of a file. */
async function beginUpload(
  parts: ImportParts,
  { id, tenant, workspaceId, name }: ImportRecord,
  { sizeBytes, sha256 }: { readonly sizeBytes?: number | undefined; readonly sha256?: string | undefined },
  context: CallContext,
): Promise<Upload> {
  const { settings } = parts;
  const { uploadId, blobId } = idsOf(parts, id, context);
  const inParts = sizeBytes !== undefined && sizeBytes > settings.singleUploadBytes;
  const reservation = { tenant, account: 'sources', bytes: sizeBytes ?? 0 } as const;
  const intent = await beginAttempt(parts, { fileId: id, revision: uploadId, blobId }, ABANDONED_AFTER_MS, reservation);
  const partsId = inParts ? await parts.bytes.beginParts(blobKey(blobId)) : undefined;
  const now = Date.now();
  const after = (ms: number) => new Date(now + ms).toISOString();
  const upload = context.work.insert(parts.uploads, {
    id: uploadId,
    traceparent: traceparentNow(),
    tenant,
    workspaceId,
    fileId: id,
    importId: id,
    replaces: false,
    how: inParts ? 'parts' : 'single',
    name,
    sizeBytes,
    sha256,
    ...(inParts ? layoutOf(sizeBytes, settings.uploadPartBytes) : {}),
    partsId,
    blobId,
    reserved: intent.reserved,
    attempts: 0,
    lookAt: after(FIRST_POLL_MS),
    expiresAt: after(settings.uploadHours * 3_600_000),
    actor: context.actor,
    createdAt: after(0),
  });
  context.work.remove(parts.intents, intent);
  return upload;
}

function lastWord(url: string): string | undefined {
  return lastSegmentOf(url) || undefined;
}

/** Returns the name of an import whose request has none: that of its file without the extension, or of its format. */
function nameFrom(fileName: string | undefined, { sourceType }: ImportRequest): string {
  const name = fileName?.replace(/\.[A-Za-z0-9]{1,8}$/, '').trim();
  if (name !== undefined && name !== '') return [...name].slice(0, 255).join('');
  const format = FORMATS[sourceType]?.archive === true ? sourceType.replace('_zip', '') : sourceType;
  return `Import of ${format}`;
}
