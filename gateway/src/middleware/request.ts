import { newRequestId } from '@commonplace/kit/id';
import type { Log } from '@commonplace/kit/log';
import { traceFields } from '@commonplace/kit/telemetry';
import type { Middleware } from 'koa';
import proxyAddr from 'proxy-addr';
import { beginTrace, endTrace } from './observe.js';
import type { State } from './state.js';

/** Longest `X-Client-Request-Id` that is logged. */
const CLIENT_REQUEST_ID_CHARS = 128;

/**
 * Names the request, finds the client's address, sets what every answer carries, measures until the answer begins, and
 * logs one line for each request that fails on our side or is slow.
 */
export function nameRequest(trustedProxies: readonly string[], secure: boolean, log: Log): Middleware<State> {
  const trust = proxyAddr.compile([...trustedProxies]);
  return async (ctx, next) => {
    const requestId = newRequestId();
    ctx.state.requestId = requestId;
    ctx.state.cameAt = Date.now();
    ctx.state.clientIp = trustedProxies.length === 0 ? (ctx.req.socket.remoteAddress ?? '') : proxyAddr(ctx.req, trust);
    const { res } = ctx;
    res.setHeader('X-Request-Id', requestId);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.setHeader('Referrer-Policy', 'no-referrer');
    if (secure) res.setHeader('Strict-Transport-Security', 'max-age=31536000');
    const started = performance.now();
    const span = beginTrace(ctx);
    let took = 0;
    try {
      await next();
    } finally {
      took = performance.now() - started;
      endTrace(ctx, span, took / 1000);
    }
    if ((ctx.status >= 500 || took > SLOW_MS) && !ctx.path.startsWith('/health/')) {
      const client = ctx.get('X-Client-Request-Id').slice(0, CLIENT_REQUEST_ID_CHARS);
      log.warn('request.done', {
        request_id: requestId,
        ...traceFields(ctx.state.traceparent),
        ...(client === '' ? {} : { client_request_id: client }),
        method: ctx.method,
        status: ctx.status,
        duration_ms: Math.round(took),
      });
    }
  };
}

const SLOW_MS = 2000;
