import { newId } from '@commonplace/kit/id';
import type { Handlers } from '@commonplace/kit/rpc';
import type { BytesService, FinishWriteResponse } from '@commonplace/proto/files/v1/bytes_service.js';
import { FileStatus } from '@commonplace/proto/files/v1/file.js';
import { beginAttempt, endAttempt } from '../acts/attempt.js';
import { finishUpload } from '../acts/finish.js';
import { type Expected, type Stored, WrongBytes } from '../blobs/port.js';
import { UPLOAD_URL_SECONDS } from '../config.js';
import { blobKey, partAt } from '../domain/layout.js';
import { ExpiredLink, tooLarge, UploadIncomplete, UploadInterrupted } from '../errors.js';
import { completeUpload, missingParts } from '../jobs/complete.js';
import type { Parts } from '../parts.js';
import type { Intent, Upload } from '../stores/records.js';
import { refusalOf } from './files.js';
import { STATUSES } from './present.js';
import { createWriters } from './writers.js';

type Writing = Pick<Handlers<BytesService>, 'beginWrite' | 'writeBytes' | 'finishWrite' | 'abortWrite'>;

/** What a client is putting: all of an upload, or one part of it. */
export interface Target {
  readonly upload: Upload;
  readonly part: number | undefined;
  readonly expected: Expected;
  /** Most bytes. */
  readonly limit: number;
  readonly blobId: string;
  /** Of what is put at once. */
  readonly intent: Intent | undefined;
}

/** The way of bytes in, where they don't go straight into a bucket. */
export function createUploadHandlers(parts: Parts): Writing & { close(): Promise<void> } {
  const writers = createWriters<Target>(parts.log);
  return {
    async beginWrite({ token, contentLength }) {
      const target = await targetOf(parts, token, contentLength);
      return { writer: writers.begin(target, (source) => put(parts, target, source)) };
    },

    async writeBytes({ writer, offset, data }) {
      const state = writers.find(writer, offset);
      if (state === undefined) throw UploadInterrupted();
      if (offset + data.length > state.target.limit) {
        await giveUp(parts, state.target, writers.abort(writer));
        throw tooLarge(undefined, state.target.limit, 'COMMONPLACE_FILE_BYTES');
      }
      await writers.write(writer, data);
      return {};
    },

    async finishWrite({ writer }) {
      const state = writers.find(writer);
      if (state === undefined) throw UploadInterrupted();
      const { target } = state;
      try {
        return await landed(parts, target, await writers.finish(writer));
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

/** What a token lets its holder put. Refuses what is announced to be of another size before it is sent. */
async function targetOf(parts: Parts, token: string, length: number | undefined): Promise<Target> {
  const grant = parts.tokens.verify(token);
  if (grant?.kind !== 'put') throw ExpiredLink();
  const upload = await parts.uploads.get(grant.uploadId);
  if (upload === undefined) throw ExpiredLink();
  const { part } = grant;
  const expected = part === undefined ? upload : partOf(upload, part);
  const limit = expected.sizeBytes ?? parts.settings.singleBytes;
  if (length !== undefined && length > limit) throw tooLarge(undefined, limit, 'COMMONPLACE_SINGLE_UPLOAD_BYTES');
  if (length !== undefined && expected.sizeBytes !== undefined && length !== expected.sizeBytes) {
    throw UploadIncomplete({ received_bytes: length, expected_bytes: expected.sizeBytes });
  }
  const { sizeBytes, sha256 } = expected;
  const about = { upload, part, expected: { sizeBytes, sha256 }, limit };
  if (part !== undefined) return { ...about, blobId: upload.blobId, intent: undefined };
  const blobId = newId();
  const intent = await beginAttempt(
    parts,
    { fileId: upload.fileId, revision: upload.id, blobId },
    UPLOAD_URL_SECONDS * 2000,
  );
  return { ...about, blobId, intent };
}

function partOf({ sizeBytes = 0, partBytes = 0, partCount = 0 }: Upload, number: number): Expected {
  const place = partAt(sizeBytes, { partBytes, partCount }, number);
  if (place === undefined) throw ExpiredLink();
  return { sizeBytes: place.sizeBytes };
}

function put(parts: Parts, target: Target, source: AsyncIterable<Uint8Array>): Promise<Stored> {
  const { blobId, part, upload, expected } = target;
  return part === undefined
    ? parts.bytes.put(blobKey(blobId), source, expected)
    : parts.bytes.putPart(blobKey(blobId), upload.partsId ?? '', part, source, expected);
}

/** What was put is durable and right: a version, or one part less that is missing. */
async function landed(parts: Parts, target: Target, stored: Stored): Promise<FinishWriteResponse> {
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
  if (present !== undefined) parts.background('upload.failed', () => completeUpload(parts, present));
  return { resourceId, status: FileStatus.PROCESSING, partsMissing };
}

/** Nothing is left of a put that was given up; the upload may be tried again. */
async function giveUp(parts: Parts, { intent }: Target, ended: Promise<void> | undefined): Promise<void> {
  await ended;
  if (intent !== undefined) await endAttempt(parts, intent);
}
