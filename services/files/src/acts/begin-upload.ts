import type { CallContext } from '@commonplace/kit/rpc';
import type { CreateFileResponse } from '@commonplace/proto/files/v1/file_service.js';
import { blobKey, layoutOf } from '../domain/layout.js';
import { fileMessage } from '../handlers/present.js';
import type { Parts } from '../parts.js';
import type { FileRecord, Upload } from '../stores/records.js';
import { beginAttempt } from './attempt.js';
import { type Creation, putNode } from './create-file.js';
import { signUpload } from './sign-upload.js';

/** Creates a file whose bytes are to come: by signed URLs, or out of a URL that this service fetches. */
export async function beginUpload(parts: Parts, creation: Creation, context: CallContext): Promise<CreateFileResponse> {
  const { file, revision, blobId } = creation;
  const facts = uploadFacts(parts, creation, context);
  const after = putRecord(parts, creation, facts, context);
  const intent = await beginAttempt(parts, { fileId: file.id, revision, blobId }, SLACK_MS);
  const partsId = facts.how === 'parts' ? await parts.bytes.beginParts(blobKey(blobId)) : undefined;
  const upload = context.work.insert(parts.uploads, { ...facts, partsId });
  const resource = await putNode(parts, creation, summaryOf(after), context);
  context.work.remove(parts.intents, intent);
  const version = after.versionId === undefined ? undefined : await parts.versions.get(after.versionId);
  const signed = facts.how === 'fetch' ? undefined : await signUpload(parts, upload);
  return { resource, file: fileMessage(after, version), upload: signed };
}

/** Milliseconds within which the request has ended, or its process is gone. */
const SLACK_MS = 60_000;
/** Milliseconds after which a bucket is asked whether something has landed in it. */
const FIRST_LOOK_MS = 2_000;

function uploadFacts(
  { settings }: Parts,
  { wish, file, revision, blobId, replaces }: Creation,
  context: CallContext,
): Omit<Upload, 'version'> {
  const now = Date.now();
  const after = (ms: number) => new Date(now + ms).toISOString();
  const url = typeof wish.from === 'object' && 'url' in wish.from ? wish.from.url : undefined;
  const { sizeBytes } = wish;
  const inParts = url === undefined && sizeBytes !== undefined && sizeBytes > settings.singleBytes;
  return {
    id: revision,
    tenant: file.tenant,
    workspaceId: file.workspaceId,
    fileId: file.id,
    replaces,
    how: url !== undefined ? 'fetch' : inParts ? 'parts' : 'single',
    name: wish.name === '' ? file.id : wish.name,
    saidType: wish.contentType,
    sizeBytes,
    sha256: wish.sha256,
    ...(inParts ? layoutOf(sizeBytes, settings.partBytes) : {}),
    blobId,
    sourceUrl: url,
    attempts: 0,
    lookAt: after(url === undefined ? FIRST_LOOK_MS : 0),
    expiresAt: after(settings.uploadHours * 3_600_000),
    actor: context.actor,
    createdAt: after(0),
  };
}

/** The file's record: new, or with bytes that stay until the new ones are there. */
function putRecord(
  parts: Parts,
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
