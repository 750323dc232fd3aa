import type Router from '@koa/router';
import type { Context } from 'koa';
import { safeNext } from './next.js';
import { createOidcFlows } from './oidc-flows.js';
import { errorPage } from './pages.js';
import { type AuthParts, callOf, originOf } from './parts.js';
import { orPage, seeOther } from './respond.js';
import { beginSession } from './sessions.js';

/**
 * Values of `Sec-Fetch-Site` for requests that a person started on this site: by a link on one of its pages, by
 * entering the address, or in a browser that does not send the header.
 */
const OWN_ACTIONS: readonly string[] = ['', 'same-origin', 'none'];

function isOwnAction(ctx: Context): boolean {
  return OWN_ACTIONS.includes(ctx.get('Sec-Fetch-Site'));
}

/** Serves sign-in with an identity provider: the redirect to the provider and the callback. */
export function mountOidc(router: Router, parts: AuthParts): void {
  const { security, publicOrigin } = parts;
  const flows = createOidcFlows(publicOrigin.startsWith('https:'));

  async function begin(ctx: Context): Promise<void> {
    const next = safeNext(String(ctx.query.next ?? ''), publicOrigin);
    // A page of another site could start a sign-in without the person noticing. They get the sign-in page and decide
    // there.
    if (!isOwnAction(ctx)) return seeOther(ctx, `/auth/sign-in?next=${encodeURIComponent(next)}`);
    const { url, flow, expiresAt } = await security.beginOidcSignIn({ next }, callOf(ctx, parts));
    flows.begin(ctx, new URL(url).searchParams.get('state') ?? '', flow, expiresAt);
    seeOther(ctx, url);
  }

  async function complete(ctx: Context): Promise<void> {
    const flow = flows.take(ctx, String(ctx.query.state ?? '')) ?? '';
    const request = { query: ctx.querystring, flow, ...originOf(ctx) };
    const { signIn, next } = await security.completeOidcSignIn(request, callOf(ctx, parts));
    if (signIn === undefined) throw new Error('identity has answered no session');
    await beginSession(ctx, parts, signIn);
    seeOther(ctx, safeNext(next, publicOrigin));
  }

  router.get('/auth/oidc/start', (ctx) => orPage(ctx, () => begin(ctx), errorPage));
  router.get('/auth/oidc/callback', (ctx) => orPage(ctx, () => complete(ctx), errorPage));
}
