import type { Handlers } from '@commonplace/kit/rpc';
import type { BytesService, FinishWriteResponse } from '@commonplace/proto/files/v1/bytes_service.js';
import { FileStatus } from '@commonplace/proto/files/v1/file.js';
import { type ExpectedBytes, type StoredBytes, WrongBytes } from '../../blobs/port.js';
import { UPLOAD_URL_SECONDS } from '../../config.js';
import { type AnyByteLimit, unannouncedLimit } from '../../domain/byte-limits.js';
import { blobKey, partAt } from '../../domain/layout.js';
import { ExpiredLink, tooLarge, UploadIncomplete, UploadInterrupted } from '../../errors.js';
import { beginAttempt, endAttempt } from '../../storage/attempt.js';
import { createMeter, type Meter } from '../../storage/quota.js';
import type { Intent, Upload } from '../../storage/records.js';
import { STATUSES } from '../../storage/wire.js';
import { missingParts } from '../complete.js';
import { finishUpload } from '../finish.js';
import type { UploadParts } from '../parts.js';
import { requireWriter } from '../writer.js';
import { createWriters } from '../writers.js';
import { refusalOf } from '../wrong-bytes.js';

type WriteHandlers = Pick<Handlers<BytesService>, 'beginWrite' | 'writeBytes' | 'finishWrite' | 'abortWrite'>;

/** Describes what a client is writing: a whole upload, or one part of it. */
export interface Target {
  readonly upload: Upload;
  readonly part: number | undefined;
  readonly expected: ExpectedBytes;
  /** Maximum number of its bytes, with the setting that it comes from unless it was announced. */
  readonly limit: AnyByteLimit;
  readonly blobId: string;
  /** Only for a whole upload, not for a part. */
  readonly intent: Intent | undefined;
  readonly meter: Meter | undefined;
}

/** Serves uploads whose bytes pass through this service instead of going directly to a bucket. */
export function createUploadHandlers(parts: UploadParts): WriteHandlers & { close(): Promise<void> } {
  const writers = createWriters<Target>(parts.log);
  return {
    async beginWrite({ token, contentLength }) {
      const target = await targetOf(parts, token, contentLength);
      return { writer: writers.begin(target, (source) => put(parts, target, source)) };
    },

    async writeBytes({ writer, offset, data }) {
      const state = writers.find(writer, offset);
      if (state === undefined) throw UploadInterrupted();
      if (offset + data.length > state.target.limit.bytes) {
        await giveUp(parts, state.target, writers.abort(writer));
        throw tooLarge(undefined, state.target.limit);
      }
      try {
        await state.target.meter?.admit(data.length);
      } catch (error) {
        await giveUp(parts, state.target, writers.abort(writer));
        throw error;
      }
      await writers.write(writer, data);
      return {};
    },

    async finishWrite({ writer }) {
      const state = writers.find(writer);
      if (state === undefined) throw UploadInterrupted();
      const { target } = state;
      try {
        const stored = await writers.finish(writer);
        await requireWriter(parts, target.upload);
        return await landed(parts, target, stored);
      } catch (error) {
        await giveUp(parts, target, undefined);
        throw error instanceof WrongBytes ? refusalOf(error, target.expected.sizeBytes) : error;
      }
    },

    async abortWrite({ writer }) {
      const state = writers.find(writer);
      if (state !== undefined) await giveUp(parts, state.target, writers.abort(writer));
      return {};
    },

    close: () => writers.close(),
  };
}

/** Returns what a token permits its holder to write. Refuses a wrong announced size before the bytes are sent. */
async function targetOf(parts: UploadParts, token: string, length: number | undefined): Promise<Target> {
  const grant = parts.tokens.verify(token);
  if (grant?.kind !== 'put') throw ExpiredLink();
  const upload = await parts.uploads.get(grant.uploadId);
  if (upload === undefined) throw ExpiredLink();
  await requireWriter(parts, upload);
  const { part } = grant;
  const expected = part === undefined ? upload : partOf(upload, part);
  const limit = limitOf(parts, upload, expected);
  if (length !== undefined && length > limit.bytes) throw tooLarge(undefined, limit);
  if (length !== undefined && expected.sizeBytes !== undefined && length !== expected.sizeBytes) {
    throw UploadIncomplete({ received_bytes: length, expected_bytes: expected.sizeBytes });
  }
  const { sizeBytes, sha256 } = expected;
  const about = { upload, part, expected: { sizeBytes, sha256 }, limit };
  if (part !== undefined) return { ...about, blobId: upload.blobId, intent: undefined, meter: undefined };
  const blobId = parts.ids.create();
  const account = upload.importId === undefined ? 'files' : 'sources';
  const covered = upload.reserved?.bytes ?? 0;
  const intent = await beginAttempt(
    parts,
    { fileId: upload.fileId, revision: upload.id, blobId },
    UPLOAD_URL_SECONDS * 2000,
    { tenant: upload.tenant, account, bytes: Math.max((length ?? 0) - covered, 0) },
  );
  const meter = createMeter(parts, intent, { tenant: upload.tenant, account }, covered + (intent.reserved?.bytes ?? 0));
  return { ...about, blobId, intent, meter };
}

/** Returns the limit of what is written: as many bytes as were announced or, without that, as settings permit. */
function limitOf({ settings }: UploadParts, { importId }: Upload, { sizeBytes }: ExpectedBytes): Target['limit'] {
  return sizeBytes === undefined ? unannouncedLimit(settings, importId !== undefined) : { bytes: sizeBytes };
}

function partOf({ sizeBytes = 0, partBytes = 0, partCount = 0 }: Upload, number: number): ExpectedBytes {
  const place = partAt(sizeBytes, { partBytes, partCount }, number);
  if (place === undefined) throw ExpiredLink();
  return { sizeBytes: place.sizeBytes };
}

function put(parts: UploadParts, target: Target, source: AsyncIterable<Uint8Array>): Promise<StoredBytes> {
  const { blobId, part, upload, expected } = target;
  return part === undefined
    ? parts.bytes.put(blobKey(blobId), source, expected)
    : parts.bytes.putPart(blobKey(blobId), upload.partsId ?? '', part, source, expected);
}

/**
 * Finishes a write whose bytes are durable and correct: creates the version, or counts the parts that are still
 * missing.
 */
async function landed(parts: UploadParts, target: Target, stored: StoredBytes): Promise<FinishWriteResponse> {
  const { upload, blobId, intent } = target;
  const resourceId = upload.fileId;
  if (intent !== undefined) {
    const file = await finishUpload(parts, upload, blobId, stored, intent);
    if (upload.importId !== undefined) return { resourceId, status: FileStatus.READY, partsMissing: 0 };
    if (file === undefined) throw ExpiredLink();
    return { resourceId, status: STATUSES[file.status], partsMissing: 0 };
  }
  const partsMissing = await missingParts(parts, upload);
  if (partsMissing > 0) return { resourceId, status: FileStatus.PENDING_UPLOAD, partsMissing };
  const present = await parts.uploads.get(upload.id);
  if (present !== undefined) parts.background('upload.failed', () => parts.uploadQueue.runNow(present));
  return { resourceId, status: FileStatus.PROCESSING, partsMissing };
}

/** Cleans up after an abandoned write; the client may retry the upload. */
async function giveUp(parts: UploadParts, { intent }: Target, ended: Promise<void> | undefined): Promise<void> {
  await ended;
  if (intent !== undefined) await endAttempt(parts, intent);
}
