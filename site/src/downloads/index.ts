import { Readable } from 'node:stream';
import { AppError } from '@commonplace/kit/errors';
import { matchesNone } from '@commonplace/kit/http';
import { sendInTurns } from '@commonplace/kit/slices';
import type { Download } from '@commonplace/proto/files/v1/bytes_service.js';
import type { Context } from 'koa';
import { rangeOf, type Span } from './range.js';

/** Number of bytes that are read at a time. A client that reads slowly occupies two such pieces. */
const PIECE_BYTES = 256 * 1024;
/** Maximum number of bytes of one download that are in memory at a time. */
export const MAX_BYTES_IN_MEMORY = 2 * PIECE_BYTES;
/** Milliseconds without progress after which the download is aborted. */
const IDLE_MS = 120_000;

/** Content Security Policy of uploaded content: no scripts, forms, plug-ins or requests. */
const NOTHING_RUNS =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; object-src 'none'; base-uri 'none'";

/** Reads up to `length` bytes of a download from an offset. */
type Read = (offset: number, length: number) => Promise<Buffer>;

/**
 * Responds with the file that a URL was signed for, or with a range of it. The first bytes are read before the answer
 * begins, so that missing bytes lead to a regular error instead of a broken connection.
 */
export async function sendDownload(
  ctx: Context,
  { contentDisposition, contentType, sizeBytes, etag, sandboxed, expiresIn }: Download,
  read: Read,
): Promise<void> {
  const span = rangeOf(sizeBytes, ctx.get('Range'), ctx.get('If-Range'), `"${etag}"`);
  const { offset, length } = span === undefined || span === 'unsatisfiable' ? { offset: 0, length: sizeBytes } : span;
  const isHead = ctx.method === 'HEAD';
  const first = length === 0 ? EMPTY : await readSome(read, offset, isHead ? 1 : Math.min(PIECE_BYTES, length));
  ctx.set('ETag', `"${etag}"`);
  ctx.set('Cache-Control', `private, max-age=${expiresIn}`);
  ctx.set('Accept-Ranges', 'bytes');
  ctx.set('Content-Disposition', contentDisposition);
  ctx.set('Cross-Origin-Resource-Policy', 'cross-origin');
  // Browsers refuse to show a PDF in a sandbox. On the origin of uploaded content it has access to nothing anyway.
  const sandbox = sandboxed && contentType.startsWith('application/pdf') ? '' : '; sandbox';
  ctx.set('Content-Security-Policy', `${NOTHING_RUNS}${sandbox}`);
  const none = ctx.get('If-None-Match');
  if (none !== '' && matchesNone(none, `"${etag}"`)) {
    ctx.status = 304;
    return;
  }
  if (span === 'unsatisfiable') {
    ctx.status = 416;
    ctx.set('Content-Range', `bytes */${sizeBytes}`);
    ctx.body = '';
    return;
  }
  ctx.status = span === undefined ? 200 : 206;
  if (span !== undefined) ctx.set('Content-Range', `bytes ${offset}-${offset + length - 1}/${sizeBytes}`);
  ctx.set('Content-Type', contentType);
  ctx.length = length;
  if (isHead) {
    ctx.respond = true;
    ctx.body = Readable.from([]);
    ctx.length = length;
    return;
  }
  ctx.res.setTimeout(IDLE_MS, () => ctx.req.socket.destroy());
  const rest = { offset: offset + first.length, length: length - first.length };
  ctx.body = sendInTurns(pieces(first, rest, read));
  ctx.length = length;
}

const EMPTY = Buffer.alloc(0);

/** Reads bytes that must exist. Throws `bytes_missing` if there are none. */
async function readSome(read: Read, offset: number, length: number): Promise<Buffer> {
  const piece = await read(offset, length);
  if (piece.length > 0) return piece;
  const cause = new Error(`there are no bytes from ${offset} on`);
  throw new AppError('INTERNAL', 'bytes_missing', 'The stored bytes of this file are missing or incomplete.', {
    cause,
  });
}

/** Yields the first piece and the rest of the span in order. Reads the next piece while one is being sent. */
async function* pieces(first: Buffer, { offset, length }: Span, read: Read): AsyncIterable<Buffer> {
  const end = offset + length;
  const from = (at: number) => (at < end ? readSome(read, at, Math.min(PIECE_BYTES, end - at)) : undefined);
  let at = offset;
  let next = from(at);
  // If the client stops reading, nothing awaits this promise any more, so its rejection is handled here.
  next?.catch(() => {});
  if (first.length > 0) yield first;
  while (next !== undefined) {
    const piece = await next;
    at += piece.length;
    next = from(at);
    next?.catch(() => {});
    yield piece;
  }
}
