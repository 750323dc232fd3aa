/** Path that a page leads to if it was not given any. */
export const HOME = '/docs';

const MAX_CHARS = 2000;

/**
 * Returns `next` if it is a path of this server, else the home page. It is parsed as browsers do, which take
 * `/\evil.com`, `/.//evil.com` and a tab between slashes for another server.
 */
export function safeNext(next: string, publicOrigin: string): string {
  if (!next.startsWith('/') || next.length > MAX_CHARS || !URL.canParse(next, publicOrigin)) return HOME;
  const { origin, pathname, search, hash } = new URL(next, publicOrigin);
  if (origin !== new URL(publicOrigin).origin || pathname.startsWith('//')) return HOME;
  return pathname + search + hash;
}
