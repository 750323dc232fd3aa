import { createSecurityHeaders } from '@commonplace/kit/http';
import { newRequestId } from '@commonplace/kit/id';
import type { Log } from '@commonplace/kit/log';
import { countedNetwork } from '@commonplace/kit/network';
import { requestBegun } from '@commonplace/kit/telemetry';
import type { Middleware } from 'koa';
import proxyAddr from 'proxy-addr';
import type { Settings } from '../config.js';
import { batchedCallOf } from '../in-process.js';
import { beginEntry } from './access-log.js';
import { forgetFarProxies } from './far-proxies.js';
import { beginTrace, endTrace } from './observe.js';
import type { State } from './state.js';
import { watchUnnamedProxies } from './unnamed-proxies.js';

type RequestSettings = Pick<
  Settings,
  'trustedProxies' | 'trustTraceparent' | 'ipv6Prefix' | 'publicUrl' | 'contentUrl' | 'accessLog'
>;

/**
 * Assigns the request id, determines the client's address, sets the headers common to all answers, measures the time
 * until the answer begins, and writes the access log.
 */
export function nameRequest(settings: RequestSettings, log: Log): Middleware<State> {
  const { trustedProxies } = settings;
  const securityHeaders = createSecurityHeaders(settings);
  const trust = proxyAddr.compile([...trustedProxies]);
  const watchProxies = watchUnnamedProxies(log);
  return async (ctx, next) => {
    const requestId = newRequestId();
    ctx.state.requestId = requestId;
    ctx.state.arrivedAt = Date.now();
    const batched = batchedCallOf(ctx.req);
    if (batched !== undefined) ctx.state.batched = batched;
    forgetFarProxies(ctx.req);
    ctx.state.clientIp = trustedProxies.length === 0 ? (ctx.req.socket.remoteAddress ?? '') : proxyAddr(ctx.req, trust);
    if (batched === undefined) watchProxies(ctx.req, ctx.state.clientIp);
    ctx.state.clientNetwork = countedNetwork(ctx.state.clientIp, settings.ipv6Prefix);
    const { res } = ctx;
    res.setHeader('X-Request-Id', requestId);
    for (const [name, value] of securityHeaders(ctx)) res.setHeader(name, value);
    const started = performance.now();
    res.once('close', requestBegun());
    const entry = beginEntry(ctx, log, settings.accessLog);
    // The parent of a batched call is the span of its batch, which has decided already.
    const decides =
      batched !== undefined || (settings.trustTraceparent && trust(ctx.req.socket.remoteAddress ?? '', 0));
    const span = beginTrace(ctx, decides);
    try {
      await next();
    } finally {
      const took = performance.now() - started;
      endTrace(ctx, span, took / 1000);
      entry.answered(took);
    }
  };
}
