import { AppError, invalidField } from '@commonplace/kit/errors';
import { parseJsonBody, readBytes } from '@commonplace/kit/http';
import type { Context } from 'koa';

/** The parameters of a query string. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** A submission: JSON from a program, or a form of one of our pages. */
export interface Submission {
  readonly kind: 'json' | 'form';
  readonly body: Readonly<Record<string, unknown>>;
  readonly query: Query;
  /** Fields that only forms have: the path to continue with and, below, the CSRF token. Empty if absent. */
  readonly next: string;
  readonly csrf: string;
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Maximum size of a submission, several times that of the longest fields with escapes. */
const MAX_BYTES = 64 * 1024;

/** Reads a submission. Throws `unsupported_media_type`, `invalid_json` and `payload_too_large`. */
export async function readSubmission(ctx: Context): Promise<Submission> {
  const bytes = await readSubmitted(ctx);
  const type = bytes.length === 0 ? JSON_TYPE : ctx.is(JSON_TYPE, FORM_TYPE);
  if (type === JSON_TYPE) return { kind: 'json', body: parseJsonBody(bytes), query: ctx.query, next: '', csrf: '' };
  if (type !== FORM_TYPE) {
    throw new AppError('INVALID_ARGUMENT', 'unsupported_media_type', `Send the body as ${JSON_TYPE}.`);
  }
  const { next = '', csrf = '', ...body } = Object.fromEntries(new URLSearchParams(bytes.toString('utf8')));
  return { kind: 'form', body, query: {}, next, csrf };
}

async function readSubmitted(ctx: Context): Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': encoding } = ctx.req.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return Buffer.alloc(0);
  return readBytes(ctx.req, MAX_BYTES).catch((cause: { type?: string }) => {
    if (cause instanceof AppError) throw cause;
    if (cause.type !== 'entity.too.large') {
      throw new AppError('INVALID_ARGUMENT', 'invalid_json', 'The body ended before it was complete.', { cause });
    }
    // The rest of the body is not read, so the connection can't be reused.
    ctx.set('Connection', 'close');
    const details = { limit: MAX_BYTES };
    throw new AppError('INVALID_ARGUMENT', 'payload_too_large', `A body has at most ${MAX_BYTES} bytes.`, {
      details,
    });
  });
}

/**
 * Copies the token of an invitation link, `?invite=`, into a field of the body. Throws if both are given and differ.
 */
export function withInvitation({ query, body }: Submission, field: string): Pick<Submission, 'query' | 'body'> {
  const { invite, ...others } = query;
  if (invite === undefined) return { query, body };
  if ((body[field] ?? invite) !== invite) {
    throw invalidField('invite', 'ambiguous_target', `invite and ${field} are different.`);
  }
  return { query: others, body: { ...body, [field]: invite } };
}
