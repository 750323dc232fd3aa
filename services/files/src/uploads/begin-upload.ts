import type { CallContext } from '@commonplace/kit/rpc';
import { traceparentNow } from '@commonplace/kit/telemetry';
import type { CreateFileResponse } from '@commonplace/proto/files/v1/file_service.js';
import { blobKey, layoutOf } from '../domain/layout.js';
import { beginAttempt } from '../storage/attempt.js';
import type { FileRecord, Upload } from '../storage/records.js';
import { fileMessage } from '../storage/wire.js';
import { orCleanUp } from './clean-up-attempt.js';
import { type Creation, putNode } from './create-file.js';
import type { UploadParts } from './parts.js';
import { signUpload } from './sign-upload.js';

/** Creates a file whose bytes arrive later: through signed URLs, or from a URL that this service fetches. */
export async function beginUpload(
  parts: UploadParts,
  creation: Creation,
  context: CallContext,
): Promise<CreateFileResponse> {
  const { file, revision, blobId } = creation;
  const facts = uploadFacts(parts, creation, context);
  const after = putRecord(parts, creation, facts, context);
  const reservation = { tenant: file.tenant, account: 'files', bytes: facts.sizeBytes ?? 0 } as const;
  const intent = await beginAttempt(parts, { fileId: file.id, revision, blobId }, ABANDONED_AFTER_MS, reservation);
  const partsId = facts.how === 'parts' ? await parts.bytes.beginParts(blobKey(blobId)) : undefined;
  // The upload takes the reservation over from the attempt.
  const upload = context.work.insert(parts.uploads, {
    ...{ ...facts, partsId, reserved: intent.reserved },
    traceparent: traceparentNow(),
  });
  const resource = await orCleanUp(parts, intent, () => putNode(parts, creation, summaryOf(after), context));
  context.work.remove(parts.intents, intent);
  const version = after.versionId === undefined ? undefined : await parts.versions.get(after.versionId);
  const signed = facts.how === 'fetch' ? undefined : await signUpload(parts, upload);
  return { resource, file: fileMessage(after, version), upload: signed };
}

/** Milliseconds after which the request has ended or its process is gone. */
const ABANDONED_AFTER_MS = 60_000;
/** Milliseconds before the first check whether bytes have arrived in a bucket. */
const FIRST_POLL_MS = 2_000;

function uploadFacts(
  { settings }: UploadParts,
  { parsed, file, revision, blobId, replaces }: Creation,
  context: CallContext,
): Omit<Upload, 'version'> {
  const now = Date.now();
  const after = (ms: number) => new Date(now + ms).toISOString();
  const url = typeof parsed.from === 'object' && 'url' in parsed.from ? parsed.from.url : undefined;
  const { sizeBytes } = parsed;
  const inParts = url === undefined && sizeBytes !== undefined && sizeBytes > settings.singleUploadBytes;
  return {
    id: revision,
    tenant: file.tenant,
    workspaceId: file.workspaceId,
    fileId: file.id,
    replaces,
    how: url !== undefined ? 'fetch' : inParts ? 'parts' : 'single',
    name: parsed.name === '' ? file.id : parsed.name,
    saidType: parsed.contentType,
    sizeBytes,
    sha256: parsed.sha256,
    ...(inParts ? layoutOf(sizeBytes, settings.uploadPartBytes) : {}),
    blobId,
    sourceUrl: url,
    attempts: 0,
    lookAt: after(url === undefined ? FIRST_POLL_MS : 0),
    expiresAt: after(settings.uploadHours * 3_600_000),
    actor: context.actor,
    ...(context.metadata.shareLink === undefined && { userId: context.caller.userId }),
    createdAt: after(0),
  };
}

/** Writes the file's record: a new one, or the existing one, which keeps its bytes until the new ones have arrived. */
function putRecord(
  parts: UploadParts,
  { file, replaces }: Creation,
  upload: Omit<Upload, 'version'>,
  context: CallContext,
): FileRecord {
  const now = upload.createdAt;
  if (replaces && file.version !== undefined) {
    const { error: _, ...before } = file as FileRecord;
    return context.work.replace(parts.files, file as FileRecord, { ...before, updatedAt: now });
  }
  const record = {
    id: file.id,
    tenant: file.tenant,
    workspaceId: file.workspaceId,
    status: upload.how === 'fetch' ? 'processing' : 'pending_upload',
    revision: upload.id,
    versions: file.versions ?? 0,
    saidType: upload.saidType ?? 'application/octet-stream',
    saidBytes: upload.sizeBytes ?? 0,
    createdAt: file.createdAt ?? now,
    updatedAt: now,
  } as const;
  return file.version === undefined
    ? context.work.insert(parts.files, record)
    : context.work.replace(parts.files, file as FileRecord, record);
}

function summaryOf(file: FileRecord) {
  return { contentType: file.saidType, sizeBytes: file.saidBytes, status: file.status };
}
