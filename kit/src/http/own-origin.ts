/**
 * Returns whether an origin is that of our own pages. All loopback names (`localhost`, `127.0.0.1`, `[::1]`) with the
 * same scheme and port are the same origin.
 */
export function isOwnOrigin(origin: string, publicOrigin: string): boolean {
  if (origin === publicOrigin) return true;
  if (!URL.canParse(origin)) return false;
  const [claimed, own] = [new URL(origin), new URL(publicOrigin)];
  return isLoopback(claimed) && isLoopback(own) && claimed.port === own.port && claimed.protocol === own.protocol;
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
}
