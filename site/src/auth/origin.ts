import { timingSafeEqual } from 'node:crypto';
import { defineForbidden } from '@commonplace/kit/errors';
import { isOwnOrigin } from '@commonplace/kit/http';
import { fingerprint } from '@commonplace/kit/id';
import type { Context } from 'koa';

const ForeignPage = defineForbidden('csrf_failed', 'The request comes from a page of another address than {address}.');
const CsrfFailed = defineForbidden('csrf_failed', 'X-CSRF-Token is missing or is not this session’s.');

/**
 * Refuses requests from pages of other sites, which could sign a visitor in as somebody else. Browsers state the origin
 * of a request. Other clients send no such header, and have no cookies that could be abused.
 */
export function requireOwnPage(ctx: Context, publicOrigin: string): void {
  const origin = ctx.get('Origin');
  const foreign = origin !== '' && !isOwnOrigin(origin, publicOrigin);
  if (foreign || ctx.get('Sec-Fetch-Site') === 'cross-site') throw ForeignPage({ address: publicOrigin });
}

/** Requires the session's CSRF token, in a header or in a field of one of our forms. */
export function requireCsrf(ctx: Context, field: string, csrfToken: string): void {
  const given = Buffer.from(fingerprint(field === '' ? ctx.get('X-CSRF-Token') : field));
  if (!timingSafeEqual(given, Buffer.from(fingerprint(csrfToken)))) throw CsrfFailed();
}
