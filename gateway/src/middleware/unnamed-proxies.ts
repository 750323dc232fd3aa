import type { IncomingMessage } from 'node:http';
import type { Log } from '@commonplace/kit/log';
import proxyAddr from 'proxy-addr';

/** Milliseconds between two log lines, and between two requests that are looked at. */
const REPEAT_MS = 3_600_000;
const LOOK_MS = 1_000;

/**
 * Networks in which proxies of an installation are. Others may send `X-Forwarded-For` as they like; nobody should be led
 * to trust them.
 */
const isNear = proxyAddr.compile(['loopback', 'linklocal', 'uniquelocal', '100.64.0.0/10']);

/**
 * Returns a function that logs, at most once an hour, that requests are attributed to a proxy because
 * `COMMONPLACE_TRUSTED_PROXIES` does not name it: limits count everybody behind it as one client.
 */
export function watchUnnamedProxies(log: Log, now: () => number = Date.now) {
  let next = 0;
  return (request: IncomingMessage, clientIp: string): void => {
    if (request.headers['x-forwarded-for'] === undefined || now() < next) return;
    next = now() + LOOK_MS;
    // The last one is the address that the first proxy has seen.
    if (!isNear(clientIp, 0) || proxyAddr.all(request).at(-1) === clientIp) return;
    next = now() + REPEAT_MS;
    log.warn('proxy.not_named', { proxy: clientIp, setting: 'COMMONPLACE_TRUSTED_PROXIES' });
  };
}
