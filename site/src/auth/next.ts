/** Returns the path of a page of `/auth` that continues with `next`. */
export function withNext(path: string, next: string): string {
  return next === '' ? path : `${path}?next=${encodeURIComponent(next)}`;
}

/** Path to continue with if none was given. */
export const HOME = '/docs';

const MAX_CHARS = 2000;

/**
 * Returns `next` if it is a path of this server, otherwise the home page. It is parsed like in browsers, which treat
 * `/\evil.com`, `/.//evil.com` and a tab between slashes as another server.
 */
export function safeNext(next: string, publicOrigin: string): string {
  if (!next.startsWith('/') || next.length > MAX_CHARS || !URL.canParse(next, publicOrigin)) return HOME;
  const { origin, pathname, search, hash } = new URL(next, publicOrigin);
  if (origin !== new URL(publicOrigin).origin || pathname.startsWith('//')) return HOME;
  return pathname + search + hash;
}
