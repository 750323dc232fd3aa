import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';

/** Milliseconds that a client may take for a body that is kept in memory. */
const BODY_MS = 120_000;

/** Reads a body that is kept in memory. Rejects with raw-body's error where it is too large, too slow or cut off. */
export function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const slow = setTimeout(() => request.destroy(), BODY_MS);
  const length = request.headers['content-length'];
  return getRawBody(request, { limit, length }).finally(() => clearTimeout(slow));
}
