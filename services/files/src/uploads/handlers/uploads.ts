import type { Handlers } from '@commonplace/kit/rpc';
import type { BytesService, FinishWriteResponse } from '@commonplace/proto/files/v1/bytes_service.js';
import { FileStatus } from '@commonplace/proto/files/v1/file.js';
import { measureAll } from '../../blobs/measure.js';
import { type ExpectedBytes, type StoredBytes, WrongBytes } from '../../blobs/port.js';
import { UPLOAD_URL_SECONDS } from '../../config.js';
import { type AnyByteLimit, unannouncedLimit } from '../../domain/byte-limits.js';
import { blobKey, partAt } from '../../domain/layout.js';
import { ExpiredLink, tooLarge, UploadIncomplete, UploadInterrupted } from '../../errors.js';
import { beginAttempt, endAttempt } from '../../storage/attempt.js';
import { createMeter, type Meter } from '../../storage/quota.js';
import type { Intent, Receipt, Upload } from '../../storage/records.js';
import { STATUSES } from '../../storage/wire.js';
import { missingParts } from '../complete.js';
import { finishUpload } from '../finish.js';
import type { UploadParts } from '../parts.js';
import { answerAgain, receivedBytes } from '../receipts.js';
import { requireWriter } from '../writer.js';
import { createWriters } from '../writers.js';
import { refusalOf } from '../wrong-bytes.js';

type WriteHandlers = Pick<Handlers<BytesService>, 'beginWrite' | 'writeBytes' | 'finishWrite' | 'abortWrite'>;

/** Describes what a client is writing. */
interface Target {
  /** Number of its bytes, if it was announced. */
  readonly sizeBytes: number | undefined;
  /** Maximum number of its bytes, with the setting that it comes from unless it was announced. */
  readonly limit: AnyByteLimit;
  /** Only for a whole upload, not for a part. */
  readonly intent?: Intent;
  readonly meter?: Meter;
  put(source: AsyncIterable<Uint8Array>): Promise<StoredBytes>;
  /** Finishes a write whose bytes are durable and correct. */
  land(stored: StoredBytes): Promise<FinishWriteResponse>;
}

/** Describes an upload that is open, or one part of it. */
interface OpenTarget {
  readonly upload: Upload;
  readonly expected: ExpectedBytes;
}

/** Serves uploads whose bytes pass through this service instead of going directly to a bucket. */
export function createUploadHandlers(parts: UploadParts): WriteHandlers & { close(): Promise<void> } {
  const writers = createWriters<Target>(parts.log);
  return {
    async beginWrite({ token, contentLength }) {
      const target = await targetOf(parts, token, contentLength);
      return { writer: writers.begin(target, target.put) };
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
        return await target.land(await writers.finish(writer));
      } catch (error) {
        await giveUp(parts, target, undefined);
        throw error instanceof WrongBytes ? refusalOf(error, target.sizeBytes) : error;
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
  if (upload === undefined) return againTarget(parts, grant.uploadId, grant.part, length);
  await requireWriter(parts, upload);
  const { part } = grant;
  const expected = part === undefined ? upload : partOf(upload, part);
  const { sizeBytes, sha256 } = expected;
  const limit = limitOf(parts, upload, expected);
  if (length !== undefined && length > limit.bytes) throw tooLarge(undefined, limit);
  if (length !== undefined && sizeBytes !== undefined && length !== sizeBytes) {
    throw UploadIncomplete({ received_bytes: length, expected_bytes: sizeBytes });
  }
  const open = { upload, expected: { sizeBytes, sha256 } };
  return {
    sizeBytes,
    limit,
    ...(part === undefined ? await wholeTarget(parts, open, length) : partTarget(parts, open, part)),
  };
}

type Writing = Pick<Target, 'put' | 'land' | 'intent' | 'meter'>;

async function wholeTarget(parts: UploadParts, { upload, expected }: OpenTarget, length = 0): Promise<Writing> {
  const blobId = parts.ids.create();
  const account = upload.importId === undefined ? 'files' : 'sources';
  const covered = upload.reserved?.bytes ?? 0;
  const intent = await beginAttempt(
    parts,
    { fileId: upload.fileId, revision: upload.id, blobId },
    UPLOAD_URL_SECONDS * 2000,
    { tenant: upload.tenant, account, bytes: Math.max(length - covered, 0) },
  );
  return {
    intent,
    meter: createMeter(parts, intent, { tenant: upload.tenant, account }, covered + (intent.reserved?.bytes ?? 0)),
    put: (source) => parts.bytes.put(blobKey(blobId), source, expected),
    async land(stored) {
      await requireWriter(parts, upload);
      const file = await finishUpload(parts, upload, blobId, stored, intent);
      if (file !== undefined) return { resourceId: upload.fileId, status: STATUSES[file.status], partsMissing: 0 };
      // An import has no file; any other upload was abandoned, or completed by a request at the same time.
      return answered(parts, await parts.receipts.get(upload.id), undefined, stored);
    },
  };
}

function partTarget(parts: UploadParts, { upload, expected }: OpenTarget, part: number): Writing {
  const { blobId, partsId = '', fileId: resourceId } = upload;
  return {
    put: (source) => parts.bytes.putPart(blobKey(blobId), partsId, part, source, expected),
    async land() {
      await requireWriter(parts, upload);
      const partsMissing = await missingParts(parts, upload);
      if (partsMissing > 0) return { resourceId, status: FileStatus.PENDING_UPLOAD, partsMissing };
      const present = await parts.uploads.get(upload.id);
      if (present !== undefined) parts.background('upload.failed', () => parts.uploadQueue.runNow(present));
      return { resourceId, status: FileStatus.PROCESSING, partsMissing };
    },
  };
}

/** Returns the target of bytes that are put again, after the upload is complete: they are compared and not stored. */
async function againTarget(
  parts: UploadParts,
  uploadId: string,
  part: number | undefined,
  length: number | undefined,
): Promise<Target> {
  const receipt = await parts.receipts.get(uploadId);
  const sizeBytes = receipt && receivedBytes(receipt, part);
  if (sizeBytes === undefined || (length ?? sizeBytes) !== sizeBytes) throw ExpiredLink();
  return {
    sizeBytes,
    limit: { bytes: sizeBytes },
    put: measureAll,
    land: (stored) => answered(parts, receipt, part, stored),
  };
}

/** Answers bytes that a completed upload has received. Throws ExpiredLink if they are others, or it is abandoned. */
async function answered(
  parts: UploadParts,
  receipt: Receipt | undefined,
  part: number | undefined,
  stored: StoredBytes,
): Promise<FinishWriteResponse> {
  const answer = receipt && (await answerAgain(parts, receipt, part, stored));
  if (answer === undefined) throw ExpiredLink();
  return answer;
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

/** Cleans up after an abandoned write; the client may retry the upload. */
async function giveUp(parts: UploadParts, { intent }: Target, ended: Promise<void> | undefined): Promise<void> {
  await ended;
  if (intent !== undefined) await endAttempt(parts, intent);
}
