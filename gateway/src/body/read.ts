import { AppError } from '@commonplace/kit/errors';
import { isFormEncoded, isMultipart, mediaType, readBytes } from '@commonplace/kit/http';
import type { Context } from 'koa';

/** Media types that an endpoint accepts besides JSON. */
interface BodyTypes {
  /** An encoded HTML form. */
  readonly formEncoded?: boolean;
  /** `multipart/form-data`. */
  readonly multipart?: boolean;
}

/** Maximum size of a body, and the setting that decides about it. */
interface BodyLimit {
  readonly bytes: number;
  readonly setting: string;
}

/**
 * Reads the bytes of a request's body. A body that is not empty must be JSON or have another type that `types` allows.
 */
export async function readBody(ctx: Context, limit: BodyLimit, types: BodyTypes = {}): Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = ctx.req.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return EMPTY;
  if (Number(length) > limit.bytes) throw tooLarge(limit, types);
  const bytes = await readBytes(ctx.req, limit.bytes).catch((error: { type?: string }) => {
    if (error instanceof AppError) throw error;
    if (error.type === 'entity.too.large') throw tooLarge(limit, types);
    throw new AppError('INVALID_ARGUMENT', 'invalid_json', 'The body ended before it was complete.', { cause: error });
  });
  if (bytes.length > 0 && !isAllowed(type, types)) {
    const message = `Send the body as application/json${types.multipart ? ' or multipart/form-data' : ''}.`;
    throw new AppError('INVALID_ARGUMENT', 'unsupported_media_type', message);
  }
  return bytes;
}

function isAllowed(type: string | undefined, { formEncoded, multipart }: BodyTypes): boolean {
  return isJson(type) || (formEncoded === true && isFormEncoded(type)) || (multipart === true && isMultipart(type));
}

const EMPTY = Buffer.alloc(0);

function isJson(type: string | undefined): boolean {
  return mediaType(type) === 'application/json';
}

function tooLarge({ bytes, setting }: BodyLimit, { multipart }: BodyTypes): AppError {
  const message = `A body has at most ${bytes} bytes${multipart ? ': larger files take a signed upload' : ''}.`;
  return new AppError('INVALID_ARGUMENT', 'payload_too_large', message, {
    details: { limit: bytes, setting },
  });
}
