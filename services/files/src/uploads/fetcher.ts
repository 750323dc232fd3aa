import { UrlNotAllowed } from '@commonplace/kit/fetch';
import type { HeldJob } from '@commonplace/kit/jobs';
import { blobKey } from '../domain/layout.js';
import { beginAttempt, endAttempt } from '../storage/attempt.js';
import { createMeter, metered } from '../storage/quota.js';
import type { Fault, Upload } from '../storage/records.js';
import { deleteBytes } from '../storage/release.js';
import { failUpload, finishUpload } from './finish.js';
import type { UploadParts } from './parts.js';
import { refusedWriter } from './writer.js';
import { faultOfPut } from './wrong-bytes.js';

/**
 * Milliseconds of backoff after each time that a source was not available; there is one attempt more than there are
 * entries.
 */
const RETRY_MS = [5_000, 30_000];

/** Reports that a source can't become a file and that a retry would not help. */
class SourceRefused extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

/** Reports that a source could not be reached, or did not answer as expected; a retry may succeed. */
export class SourceUnavailable extends Error {}

/**
 * Fetches the bytes of an upload from its URL and makes them a version. Rejects if this service itself fails; the queue
 * then retries, and no attempt of the source is counted.
 */
export async function fetchUpload(parts: UploadParts, job: HeldJob<Upload>): Promise<void> {
  const upload = job.record;
  const limitMs = parts.settings.fetchSeconds * 1000;
  const { fileId, id: revision, blobId, sizeBytes, sha256 } = upload;
  const intent = await beginAttempt(parts, { fileId, revision, blobId }, limitMs + 60_000);
  try {
    const covered = (upload.reserved?.bytes ?? 0) + (intent.reserved?.bytes ?? 0);
    const meter = createMeter(parts, intent, { tenant: upload.tenant, account: 'files' }, covered);
    const source = metered(
      openUrl(parts, { url: upload.sourceUrl ?? '', tenant: upload.tenant }, AbortSignal.timeout(limitMs)),
      meter,
    );
    const stored = await parts.bytes.put(blobKey(blobId), source, { sizeBytes, sha256 });
    const refusal = await refusedWriter(parts, upload);
    if (refusal !== undefined) throw new SourceRefused({ code: refusal.reason, message: refusal.message });
    await finishUpload(parts, upload, blobId, stored, intent);
  } catch (error) {
    const fault = faultIn(error);
    if (fault !== undefined) await refuseBytes(parts, upload, fault);
    else if (error instanceof SourceUnavailable) await askAgain(parts, job, error);
    await endAttempt(parts, intent);
    if (fault === undefined && !(error instanceof SourceUnavailable)) throw error;
  }
}

/** Postpones the upload after its source was unavailable, or marks it as failed after the last attempt. */
async function askAgain(parts: UploadParts, job: HeldJob<Upload>, error: SourceUnavailable): Promise<void> {
  const { sourceFailures = 0, id } = job.record;
  const retryMs = RETRY_MS[sourceFailures];
  parts.log.info('fetch.failed', { upload_id: id, error });
  if (retryMs === undefined) await failUpload(parts, job.record, UNREACHABLE);
  else await job.retryIn(retryMs, { sourceFailures: sourceFailures + 1 });
}

async function refuseBytes(parts: UploadParts, upload: Upload, fault: Fault): Promise<void> {
  await failUpload(parts, upload, fault);
  if ((await parts.blobs.get(upload.blobId)) === undefined) await deleteBytes(parts, upload.blobId);
}

const UNREACHABLE: Fault = { code: 'dependency_unavailable', message: 'The source did not answer as expected.' };

/** A URL to fetch, and the tenant that it is fetched for. */
interface SourceUrl {
  readonly url: string;
  readonly tenant: string;
}

/** Yields the bytes at a URL. Throws `UrlNotAllowed`, or an error that `faultIn` describes. */
export async function* openUrl(
  parts: UploadParts,
  { url, tenant }: SourceUrl,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const guard = await parts.guard.of(tenant);
  const { status, headers, body } = await guard.fetch(url, { signal }).catch(refuseOrRetry);
  const limit = parts.settings.fileBytes;
  try {
    if (status >= 500 || status === 429) throw new SourceUnavailable(`the source answered ${status}`);
    if (status !== 200) throw new SourceRefused({ code: 'invalid_url', message: `The source answered ${status}.` });
    if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
    let bytes = 0;
    for await (const chunk of chunksOf(body)) {
      bytes += chunk.length;
      if (bytes > limit) throw tooLarge(limit);
      yield chunk;
    }
  } finally {
    body.destroy();
  }
}

/**
 * Yields the chunks that a source sends. Reports only errors of the source as such, not those of the consumer of the
 * chunks.
 */
async function* chunksOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  for (;;) {
    const next = await chunks.next().catch(refuseOrRetry);
    if (next.done === true) return;
    yield next.value;
  }
}

function refuseOrRetry(error: unknown): never {
  if (error instanceof UrlNotAllowed || error instanceof SourceUnavailable) throw error;
  throw new SourceUnavailable(error instanceof Error ? error.message : String(error), { cause: error });
}

function tooLarge(limit: number): SourceRefused {
  return new SourceRefused({ code: 'payload_too_large', message: `A file may have at most ${limit} bytes.` });
}

/** Returns why a source can't become a file, or undefined when a retry may succeed. */
export function faultIn(error: unknown): Fault | undefined {
  if (error instanceof SourceRefused) return error.fault;
  const fault = faultOfPut(error);
  if (fault !== undefined) return fault;
  if (error instanceof UrlNotAllowed) return { code: 'url_not_allowed', message: error.message };
  return undefined;
}
