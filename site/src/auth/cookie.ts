import type { Context } from 'koa';

/** Reads and writes the browser's session cookie. */
export interface SessionCookie {
  read(ctx: Context): string | undefined;
  /** Sets the cookie, which expires with the session. */
  set(ctx: Context, value: string, expiresAt: string | undefined): void;
  clear(ctx: Context): void;
}

/**
 * Creates the accessor of the session cookie. Scripts can't read the cookie (`HttpOnly`), and other sites send it only
 * when a person follows a link (`SameSite=Lax`). Over https it is `Secure`, and `name` begins with `__Host-`, so that a
 * neighbouring domain can't set it.
 */
export function createSessionCookie(name: string, secure: boolean): SessionCookie {
  // The header is built by hand, because Koa's cookies lack Max-Age, which works even if the browser's clock is wrong.
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
