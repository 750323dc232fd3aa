import type { Context } from 'koa';

/** The cookie that a browser keeps of its session. */
export interface SessionCookie {
  read(ctx: Context): string | undefined;
  /** Gives it to the browser, until the session's end at the latest. */
  set(ctx: Context, value: string, expiresAt: string | undefined): void;
  clear(ctx: Context): void;
}

/**
 * Not for scripts, not for other sites but when a person follows a link, and over https alone where the
 * server is reached by it: `name` begins with `__Host-` then, so that no neighbour can set it.
 */
export function createSessionCookie(name: string, secure: boolean): SessionCookie {
  // Written here, for Koa's own has no Max-Age, which a browser counts by whatever clock it has.
  const write = (ctx: Context, value: string, seconds: number) =>
    ctx.append(
      'Set-Cookie',
      `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
    );
  return {
    read: (ctx) => (ctx.req.headers.cookie === undefined ? undefined : ctx.cookies.get(name)),
    set: (ctx, value, expiresAt) => write(ctx, value, secondsUntil(expiresAt)),
    clear: (ctx) => write(ctx, '', 0),
  };
}

function secondsUntil(time: string | undefined): number {
  return Math.max(0, Math.floor((Date.parse(time ?? '') - Date.now()) / 1000) || 0);
}
