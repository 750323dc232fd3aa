import type { IncomingMessage } from 'node:http';

/** Maximum characters of `X-Forwarded-For` that are read: at least 20 addresses. */
const MAX_CHARACTERS = 1024;

/**
 * Cuts `X-Forwarded-For` to its last addresses, which the nearest proxies wrote. Each address that a trusted proxy has
 * takes microseconds, and a header has room for 16,000 of them.
 */
export function forgetFarProxies({ headers }: IncomingMessage): void {
  const given = headers['x-forwarded-for'];
  if (typeof given !== 'string' || given.length <= MAX_CHARACTERS) return;
  const near = given.slice(-MAX_CHARACTERS);
  headers['x-forwarded-for'] = near.slice(near.indexOf(',') + 1);
}
