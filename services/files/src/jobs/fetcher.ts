import { UrlNotAllowed } from '@commonplace/kit/fetch';
import { beginAttempt, endAttempt } from '../acts/attempt.js';
import { failUpload, faultOf, finishUpload } from '../acts/finish.js';
import { WrongBytes } from '../blobs/port.js';
import { blobKey } from '../domain/layout.js';
import type { Parts } from '../parts.js';
import { lease, lookAgain } from '../stores/lease.js';
import type { Fault, Upload } from '../stores/records.js';

/** Tries to fetch a URL that fails by itself, and milliseconds before the next. */
const RETRY_MS = [5_000, 30_000];

/** A source that cannot become a file; trying again would not help. */
class SourceRefused extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

/** Fetches the bytes of an upload from its URL and makes them a version. One worker at a time does it. */
export async function fetchUpload(parts: Parts, found: Upload): Promise<void> {
  const held = await lease(parts, found);
  if (held === undefined) return;
  try {
    await fetchOnce(parts, held.upload);
  } finally {
    held.end();
  }
}

async function fetchOnce(parts: Parts, upload: Upload): Promise<void> {
  const limitMs = parts.settings.fetchSeconds * 1000;
  const { fileId, id: revision, blobId, sizeBytes, sha256 } = upload;
  const intent = await beginAttempt(parts, { fileId, revision, blobId }, limitMs + 60_000);
  try {
    const source = openUrl(parts, upload.sourceUrl ?? '', AbortSignal.timeout(limitMs));
    const stored = await parts.bytes.put(blobKey(blobId), source, { sizeBytes, sha256 });
    await finishUpload(parts, upload, blobId, stored, intent);
  } catch (error) {
    const fault = faultIn(error);
    const retryMs = RETRY_MS[upload.attempts - 1];
    if (fault !== undefined) await failUpload(parts, upload, fault);
    else if (retryMs === undefined) await failUpload(parts, upload, UNREACHABLE);
    else await lookAgain(parts, upload.id, retryMs);
    if (fault === undefined) parts.log.info('fetch.failed', { upload_id: upload.id, error });
    await endAttempt(parts, intent);
  }
}

const UNREACHABLE: Fault = { code: 'dependency_unavailable', message: 'The source did not answer as it should.' };

export async function* openUrl(parts: Parts, url: string, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const { status, headers, body } = await parts.guard.fetch(url, { signal });
  const limit = parts.settings.fileBytes;
  try {
    if (status >= 500 || status === 429) throw new Error(`the source answered ${status}`);
    if (status !== 200) throw new SourceRefused({ code: 'invalid_url', message: `The source answered ${status}.` });
    if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > limit) throw tooLarge(limit);
      yield chunk;
    }
  } finally {
    // Whoever stops reading makes it end with an error, which nobody has to know.
    body.on('error', () => {}).destroy();
  }
}

function tooLarge(limit: number): SourceRefused {
  return new SourceRefused({ code: 'payload_too_large', message: `There may be ${limit} bytes at the most.` });
}

/** Why a source cannot become a file; undefined where another try may succeed. */
export function faultIn(error: unknown): Fault | undefined {
  if (error instanceof SourceRefused) return error.fault;
  if (error instanceof WrongBytes) return faultOf(error);
  if (error instanceof UrlNotAllowed) return { code: 'url_not_allowed', message: error.message };
  return undefined;
}
