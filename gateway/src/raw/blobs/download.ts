import { Readable } from 'node:stream';
import type { Download } from '@commonplace/proto/files/v1/bytes_service.js';
import type { Context } from 'koa';
import { matchesNone } from '../../preconditions.js';
import { rangeOf, type Span } from './range.js';

/** Bytes that are read at once. */
const PIECE_BYTES = 1024 * 1024;
/** Milliseconds without a byte taken after which a client is given up. */
const IDLE_MS = 120_000;

/** Nothing of a user's bytes runs: no scripts, forms, plug-ins or requests, and no origin. */
const NOTHING_RUNS = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'";

/** Answers some or all of what a URL was signed for. */
export function sendDownload(
  ctx: Context,
  { contentDisposition, contentType, sizeBytes, etag, sandboxed, expiresIn }: Download,
  read: (offset: number, length: number) => Promise<Buffer>,
): void {
  ctx.set('ETag', `"${etag}"`);
  ctx.set('Cache-Control', `private, max-age=${expiresIn}`);
  ctx.set('Accept-Ranges', 'bytes');
  ctx.set('Content-Disposition', contentDisposition);
  ctx.set('Cross-Origin-Resource-Policy', 'cross-origin');
  // Browsers refuse to show a PDF within a sandbox; on the origin for users' bytes it can reach nothing.
  const sandbox = sandboxed && contentType.startsWith('application/pdf') ? '' : '; sandbox';
  ctx.set('Content-Security-Policy', `${NOTHING_RUNS}${sandbox}`);
  const none = ctx.get('If-None-Match');
  if (none !== '' && matchesNone(none, `"${etag}"`)) {
    ctx.status = 304;
    return;
  }
  const span = rangeOf(sizeBytes, ctx.get('Range'), ctx.get('If-Range'), `"${etag}"`);
  if (span === 'unsatisfiable') {
    ctx.status = 416;
    ctx.set('Content-Range', `bytes */${sizeBytes}`);
    ctx.body = '';
    return;
  }
  const { offset, length } = span ?? { offset: 0, length: sizeBytes };
  ctx.status = span === undefined ? 200 : 206;
  if (span !== undefined) ctx.set('Content-Range', `bytes ${offset}-${offset + length - 1}/${sizeBytes}`);
  ctx.set('Content-Type', contentType);
  ctx.length = length;
  if (ctx.method === 'HEAD') {
    ctx.respond = true;
    ctx.body = Readable.from([]);
    ctx.length = length;
    return;
  }
  ctx.res.setTimeout(IDLE_MS, () => ctx.req.socket.destroy());
  ctx.body = Readable.from(pieces({ offset, length }, read), { objectMode: false, highWaterMark: PIECE_BYTES });
  ctx.length = length;
}

/** The bytes of a span in order; the next piece is read while one is being sent. */
async function* pieces(
  { offset, length }: Span,
  read: (offset: number, length: number) => Promise<Buffer>,
): AsyncIterable<Buffer> {
  const end = offset + length;
  const from = (at: number) => (at < end ? read(at, Math.min(PIECE_BYTES, end - at)) : undefined);
  let at = offset;
  let next = from(at);
  while (next !== undefined) {
    const piece = await next;
    if (piece.length === 0) throw new Error('the bytes end before their end');
    at += piece.length;
    next = from(at);
    // Whoever stops taking never asks for it.
    next?.catch(() => {});
    yield piece;
  }
}
