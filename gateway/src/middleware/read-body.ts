import type { IncomingMessage } from 'node:http';
import { AppError } from '@commonplace/kit/errors';
import type { Context } from 'koa';
import getRawBody from 'raw-body';

/** The bytes of a request's body, which must be JSON where there are any. */
export async function readBody(ctx: Context, limit: number): Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = ctx.req.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return EMPTY;
  if (Number(length) > limit) throw await tooLarge(ctx, limit);
  const bytes = await getRawBody(ctx.req, { limit, length }).catch(async (error: { type?: string }) => {
    if (error.type === 'entity.too.large') throw await tooLarge(ctx, limit);
    throw new AppError('INVALID_ARGUMENT', 'invalid_json', 'The body ended before it was complete.', { cause: error });
  });
  if (bytes.length > 0 && !isJson(type)) {
    throw new AppError('INVALID_ARGUMENT', 'unsupported_media_type', 'Send the body as application/json.');
  }
  return bytes;
}

const EMPTY = Buffer.alloc(0);

function isJson(type: string | undefined): boolean {
  return type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
}

/** Bytes and milliseconds of a refused body that are read and dropped, so that its client reads the answer. */
const DROPPED_BYTES = 64 * 1024 * 1024;
const DROPPED_MS = 5000;

async function tooLarge(ctx: Context, limit: number): Promise<AppError> {
  const dropped = await drop(ctx.req);
  if (!dropped) ctx.set('Connection', 'close');
  return new AppError('INVALID_ARGUMENT', 'payload_too_large', `A body has ${limit} bytes at the most.`, {
    details: { limit, setting: 'COMMONPLACE_BODY_BYTES' },
  });
}

/** Reads the rest of a body without keeping it; false where it was given up. */
function drop(request: IncomingMessage): Promise<boolean> {
  if (request.complete) return Promise.resolve(true);
  return new Promise((resolve) => {
    let bytes = 0;
    const end = (whole: boolean) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      if (!whole) request.pause();
      resolve(whole);
    };
    const onEnd = () => end(true);
    const onClose = () => end(false);
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > DROPPED_BYTES) end(false);
    };
    const timer = setTimeout(onClose, DROPPED_MS);
    request.on('data', onData).on('end', onEnd).on('close', onClose).resume();
  });
}
