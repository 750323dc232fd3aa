import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';

/** Milliseconds that a client may take to send a body that is kept in memory. */
const BODY_MS = 120_000;
/**
 * Announced size above which a body is written into one preallocated buffer as it arrives: concatenating its chunks
 * takes 5 ms for 6 MB.
 */
const GATHERED_BYTES = 64 * 1024;

/** Reads a body into memory. Rejects with raw-body's error if it is too large, too slow or cut off. */
export function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const slow = setTimeout(() => request.destroy(), BODY_MS);
  const length = request.headers['content-length'];
  const announced = Number(length);
  const isGathered = announced > GATHERED_BYTES && announced <= limit;
  const read = isGathered ? gather(request, announced) : getRawBody(request, { limit, length });
  return read.finally(() => clearTimeout(slow));
}

/** Reads as many bytes as `Content-Length` announces; Node.js passes on no more. */
async function gather(request: IncomingMessage, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let read = 0;
  for await (const chunk of request) read += (chunk as Buffer).copy(bytes, read);
  if (read < length) throw new Error('the body is shorter than it was announced');
  return bytes;
}
