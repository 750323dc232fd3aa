import type { Context } from 'koa';
import { createSessionCookie, type SessionCookie } from './cookie.js';

/** What a browser keeps of the sign-ins with an identity provider that it has begun, each under its `state`. */
interface OidcFlows {
  begin(ctx: Context, state: string, flow: string, expiresAt: string | undefined): void;
  /** Returns the flow of a sign-in, once; undefined if this browser has not begun it. */
  take(ctx: Context, state: string): string | undefined;
}

/**
 * Number of sign-ins that one browser can have begun, in several tabs. Beyond it the first are forgotten, because the
 * cookies, of up to 3 KB each, must fit into the headers of a request.
 */
const MAX_FLOWS = 4;
/** Number of characters of a `state` that tell the sign-ins of one browser apart. */
const KEY_CHARS = 16;

export function createOidcFlows(secure: boolean): OidcFlows {
  const prefix = secure ? '__Host-oidc-' : 'oidc-';
  const cookieOf = (name: string): SessionCookie => createSessionCookie(name, secure);

  return {
    begin(ctx, state, flow, expiresAt) {
      const begun = cookieNamesOf(ctx).filter((name) => name.startsWith(prefix));
      for (const name of begun.slice(0, Math.max(0, begun.length - MAX_FLOWS + 1))) cookieOf(name).clear(ctx);
      cookieOf(prefix + keyOf(state)).set(ctx, flow, expiresAt);
    },
    take(ctx, state) {
      const cookie = cookieOf(prefix + keyOf(state));
      const flow = cookie.read(ctx);
      if (flow !== undefined) cookie.clear(ctx);
      return flow;
    },
  };
}

/** Returns the part of a `state` that names its cookie, without characters that a name cannot have. */
function keyOf(state: string): string {
  return state.replace(/[^\w-]/g, '').slice(0, KEY_CHARS);
}

/** Returns the names of a request's cookies; browsers send those first that were set first. */
function cookieNamesOf(ctx: Context): string[] {
  return (ctx.req.headers.cookie ?? '').split(';').map((pair) => pair.split('=', 1)[0]?.trim() ?? '');
}
