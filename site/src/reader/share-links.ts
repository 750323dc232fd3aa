import { AppError } from '@commonplace/kit/errors';
import type { EndedSessions } from '@commonplace/kit/http';
import type { Client } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { Context } from 'koa';
import { callOf, type Place, type ReaderParts } from './parts.js';
import { sendElsewhere } from './send.js';

/** Path prefix of share links; the token follows. */
export const SHARES = '/s/';
const TOKEN = /^[\w-]{20,64}$/;
/** Path of the API that accepts a share link in its query. */
const SHARED_RESOURCE = /^\/api\/v1\/resources\/([\w-]{1,64})$/;

/** Returns the user id of the browser's signed-in person; empty if there is none. */
type ViewerOf = (ctx: Context) => Promise<string>;

interface ViewerParts {
  readonly auth: Pick<Client<AuthService>, 'getSession'>;
  readonly cookieName: string;
  readonly ended: EndedSessions;
  readonly timeoutMs: number;
}

/** Creates the function that looks up in identity the person of a request's session cookie. */
export function createViewerOf({ auth, cookieName, ended, timeoutMs }: ViewerParts): ViewerOf {
  return async (ctx) => {
    const session = ctx.req.headers.cookie === undefined ? undefined : ctx.cookies.get(cookieName);
    if (session === undefined || ended.has(session)) return '';
    try {
      return (await auth.getSession({ session }, callOf(ctx, { timeoutMs }))).user?.id ?? '';
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return '';
      throw error;
    }
  };
}

/**
 * Returns the page path for a share link that is used with its address in the API. Returns undefined for all other
 * requests, and for those with a credential, which the API answers.
 */
export function sharedPageOf(ctx: Context): string | undefined {
  const [, id] = SHARED_RESOURCE.exec(ctx.path) ?? [];
  const token = ctx.query.share_link;
  if (id === undefined || typeof token !== 'string' || !TOKEN.test(token)) return undefined;
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return undefined;
  return ctx.get('Authorization') === '' ? `${SHARES}${token}/${id}` : undefined;
}

/** Keeps the token of a link out of caches, search engines and referrers. */
export function keepSecret(ctx: Context): void {
  ctx.set('Cache-Control', 'private, no-store');
  ctx.set('Referrer-Policy', 'no-referrer');
  ctx.set('X-Robots-Tag', 'noindex, nofollow');
}

/** Redirects to the sign-in page, which leads back afterwards. */
export function sendToSignIn(ctx: Context): void {
  sendElsewhere(ctx, `/auth/sign-in?next=${encodeURIComponent(ctx.path)}`);
}

/** Returns the place that a path below `/s/` addresses, as the signed-in person may see it. */
export async function sharePlace(
  ctx: Context,
  parts: ReaderParts,
  path: string,
  rest: (path: string) => string,
): Promise<Place> {
  const host = parts.hostOf(ctx);
  const [token = '', ...below] = path.slice(SHARES.length).split('/');
  const viewerId = await parts.viewerOf(ctx);
  return {
    address: { host, slug: token, proof: undefined, pass: undefined, shareLink: true, viewerId },
    key: `${host}\n${SHARES}${token}\n${viewerId}`,
    path: rest(below.join('/')),
    shared: true,
  };
}
