import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { AppError, Timeout } from '../errors/index.js';

/** Milliseconds that a client may take to send a body that is kept in memory. */
const BODY_MS = 120_000;
/**
 * Announced size above which a body is written into one preallocated buffer as it arrives: concatenating its chunks
 * takes 5 ms for 6 MB.
 */
const GATHERED_BYTES = 64 * 1024;

/**
 * Reads a body into memory. Rejects with raw-body's error if it is too large or cut off, and with `timeout` if it takes
 * longer than `timeoutMs`. Nothing has been done by then. Rejects with `unsupported_media_type` if it is compressed.
 */
export async function readBytes(request: IncomingMessage, limit: number, timeoutMs = BODY_MS): Promise<Buffer> {
  requireNoCoding(request.headers['content-encoding']);
  const length = request.headers['content-length'];
  const announced = Number(length);
  const isGathered = announced > GATHERED_BYTES && announced <= limit;
  return within(timeoutMs, isGathered ? gather(request, announced) : getRawBody(request, { limit, length }));
}

/** Reads the first `limit` bytes of a body that is longer, and leaves the rest unread. Otherwise like `readBytes`. */
export async function readFirstBytes(request: IncomingMessage, limit: number, timeoutMs = BODY_MS): Promise<Buffer> {
  requireNoCoding(request.headers['content-encoding']);
  return within(timeoutMs, gatherFirst(request, limit));
}

/** Rejects with `timeout` if a body is not read in time. */
function within<T>(timeoutMs: number, read: Promise<T>): Promise<T> {
  read.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `The body took more than ${timeoutMs / 1000} s to arrive. Nothing was done.`;
    timer = setTimeout(() => reject(Timeout({}, { message, retryAfter: 1 })), timeoutMs);
  });
  return Promise.race([read, late]).finally(() => clearTimeout(timer));
}

/** Throws for a compressed body, which readers would take for bytes that are broken. */
function requireNoCoding(coding: string | undefined): void {
  if (coding === undefined || coding.toLowerCase() === 'identity') return;
  const message = 'Send the body uncompressed, without Content-Encoding.';
  throw new AppError('INVALID_ARGUMENT', 'unsupported_media_type', message);
}

/** Reads as many bytes as `Content-Length` announces; Node.js passes on no more. */
async function gather(request: IncomingMessage, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let read = 0;
  for await (const chunk of request) read += (chunk as Buffer).copy(bytes, read);
  if (read < length) throw new Error('the body is shorter than it was announced');
  return bytes;
}

async function gatherFirst(request: IncomingMessage, limit: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(limit);
  let read = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    read += (chunk as Buffer).copy(bytes, read);
    if (read === limit) break;
  }
  return bytes.subarray(0, read);
}
