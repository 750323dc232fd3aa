import type { CallContext } from '@commonplace/kit/rpc';
import type { CreateFileResponse } from '@commonplace/proto/files/v1/file_service.js';
import type { Stored } from '../blobs/port.js';
import { blobKey } from '../domain/layout.js';
import { fileMessage } from '../handlers/present.js';
import type { Parts } from '../parts.js';
import { addVersion } from './add-version.js';
import { beginAttempt } from './attempt.js';
import { type Creation, putNode } from './create-file.js';
import { kindOf, readTextSoon } from './finish.js';

/** Creates a file, or a version, from bytes that came in the request: they are ready when it is answered. */
export async function createInline(
  parts: Parts,
  creation: Creation,
  bytes: Buffer,
  measured: Stored,
  context: CallContext,
): Promise<CreateFileResponse> {
  const { wish, file, revision, blobId } = creation;
  const name = wish.name === '' ? revision : wish.name;
  const kind = await kindOf(bytes, name, wish.contentType);
  const facts = { ...measured, ...kind, revision, blobId, name, actor: context.actor };
  const after = await addVersion(parts, context.work, file, facts);
  const version = await context.work.get(parts.versions, revision);
  const about = { fileId: file.id, revision, blobId };
  const intent = await beginAttempt(parts, about, Math.max(context.deadline - Date.now(), 0) + SLACK_MS);
  await parts.bytes.put(blobKey(blobId), [bytes], measured);
  const summary = { contentType: kind.contentType, sizeBytes: measured.sizeBytes, status: 'ready' };
  const resource = await putNode(parts, creation, summary, context);
  context.work.remove(parts.intents, intent);
  context.afterCommit(() => readTextSoon(parts, revision));
  return { resource, file: fileMessage(after, version), upload: undefined };
}

/** Milliseconds that a commit may take after its deadline. */
const SLACK_MS = 10_000;
