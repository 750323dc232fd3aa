import { timingSafeEqual } from 'node:crypto';
import { defineError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import type { Context } from 'koa';
import { isOwnOrigin } from '../../middleware/own-origin.js';

const ForeignPage = defineError(
  'PERMISSION_DENIED',
  'csrf_failed',
  'The request comes from a page of another address than {address}.',
);
const CsrfFailed = defineError('PERMISSION_DENIED', 'csrf_failed', 'X-CSRF-Token is missing or is not this session’s.');

/**
 * Refuses what a page of another site sends: it might sign its visitor in as somebody else. Browsers
 * say where a request comes from; what is no browser says nothing, and has no cookies to be misused.
 */
export function requireOwnPage(ctx: Context, publicOrigin: string): void {
  const origin = ctx.get('Origin');
  const foreign = origin !== '' && !isOwnOrigin(origin, publicOrigin);
  if (foreign || ctx.get('Sec-Fetch-Site') === 'cross-site') throw ForeignPage({ address: publicOrigin });
}

/** Refuses what does not name the session's token: in a header, or in a field of one of our forms. */
export function requireCsrf(ctx: Context, field: string, csrfToken: string): void {
  const given = Buffer.from(fingerprint(field === '' ? ctx.get('X-CSRF-Token') : field));
  if (!timingSafeEqual(given, Buffer.from(fingerprint(csrfToken)))) throw CsrfFailed();
}
