import { AppError } from '@commonplace/kit/errors';
import { isFormEncoded, mediaType, readBytes } from '@commonplace/kit/http';
import type { Context } from 'koa';

/**
 * Returns the bytes of a request's body. A body that is not empty must be JSON, or an HTML form where `formEncoded`
 * allows it.
 */
export async function readBody(ctx: Context, limit: number, formEncoded = false): Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = ctx.req.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return EMPTY;
  if (Number(length) > limit) throw tooLarge(limit);
  const bytes = await readBytes(ctx.req, limit).catch((error: { type?: string }) => {
    if (error.type === 'entity.too.large') throw tooLarge(limit);
    throw new AppError('INVALID_ARGUMENT', 'invalid_json', 'The body ended before it was complete.', { cause: error });
  });
  if (bytes.length > 0 && !isJson(type) && !(formEncoded && isFormEncoded(type))) {
    throw new AppError('INVALID_ARGUMENT', 'unsupported_media_type', 'Send the body as application/json.');
  }
  return bytes;
}

const EMPTY = Buffer.alloc(0);

function isJson(type: string | undefined): boolean {
  return mediaType(type) === 'application/json';
}

function tooLarge(limit: number): AppError {
  return new AppError('INVALID_ARGUMENT', 'payload_too_large', `A body has ${limit} bytes at the most.`, {
    details: { limit, setting: 'COMMONPLACE_BODY_BYTES' },
  });
}
