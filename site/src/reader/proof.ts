import type { Context } from 'koa';

/** Reads and writes the cookie that proves that the reader has given a publication's password. */
export interface ProofCookie {
  read(ctx: Context): string | undefined;
  /** Sets the cookie. `path` is the path of the publication, so that browsers send the cookie nowhere else. */
  set(ctx: Context, proof: { readonly value: string; readonly seconds: number; readonly path: string }): void;
}

export function createProofCookie(secure: boolean): ProofCookie {
  const name = secure ? '__Secure-reader' : 'reader';
  return {
    read: (ctx) => (ctx.req.headers.cookie === undefined ? undefined : ctx.cookies.get(name)),
    set: (ctx, { value, seconds, path }) =>
      ctx.append(
        'Set-Cookie',
        `${name}=${value}; Path=${path || '/'}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
      ),
  };
}
