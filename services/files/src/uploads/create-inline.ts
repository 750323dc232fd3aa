import type { CallContext } from '@commonplace/kit/rpc';
import type { CreateFileResponse } from '@commonplace/proto/files/v1/file_service.js';
import type { StoredBytes } from '../blobs/port.js';
import { blobKey } from '../domain/layout.js';
import { kindOf } from '../media/index.js';
import { addVersion } from '../storage/add-version.js';
import { beginAttempt } from '../storage/attempt.js';
import { fileMessage } from '../storage/wire.js';
import { readTextSoon } from '../texts/read-text.js';
import { orCleanUp } from './clean-up-attempt.js';
import { type Creation, putNode } from './create-file.js';
import type { UploadParts } from './parts.js';

/** Creates a file or a version from bytes in the request body; the file is ready when the call returns. */
export async function createInline(
  parts: UploadParts,
  creation: Creation,
  bytes: Buffer,
  measured: StoredBytes,
  context: CallContext,
): Promise<CreateFileResponse> {
  const { parsed, file, revision, blobId } = creation;
  const name = parsed.name === '' ? revision : parsed.name;
  const kind = await kindOf(bytes, name, parsed.contentType);
  const facts = { ...measured, ...kind, revision, blobId, name, actor: context.actor };
  const reserved = parts.settings.storageQuotaBytes === undefined ? 0 : measured.sizeBytes;
  const after = await addVersion(parts, context.work, file, facts, reserved);
  const version = await context.work.get(parts.versions, revision);
  const about = { fileId: file.id, revision, blobId };
  const forMs = Math.max(context.deadline - Date.now(), 0) + COMMIT_MARGIN_MS;
  const reservation = { tenant: file.tenant, account: 'files', bytes: reserved } as const;
  const intent = await beginAttempt(parts, about, forMs, reservation);
  const summary = { contentType: kind.contentType, sizeBytes: measured.sizeBytes, status: 'ready' };
  const resource = await orCleanUp(parts, intent, async () => {
    await parts.bytes.put(blobKey(blobId), [bytes], measured);
    return putNode(parts, creation, summary, context);
  });
  context.work.remove(parts.intents, intent);
  context.afterCommit(() => readTextSoon(parts, revision));
  return { resource, file: fileMessage(after, version), upload: undefined };
}

/** Milliseconds that a commit may take after the request's deadline. */
const COMMIT_MARGIN_MS = 10_000;
