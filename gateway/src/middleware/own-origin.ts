/**
 * Whether a page of this origin is one of ours. A server on this machine has several names: `localhost`
 * and `127.0.0.1` on its port are the same.
 */
export function isOwnOrigin(origin: string, publicOrigin: string): boolean {
  if (origin === publicOrigin) return true;
  if (!URL.canParse(origin)) return false;
  const [given, own] = [new URL(origin), new URL(publicOrigin)];
  return isLoopback(given) && isLoopback(own) && given.port === own.port && given.protocol === own.protocol;
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
}
