import type { Caller } from '@commonplace/kit/auth';
import type { Log } from '@commonplace/kit/log';
import { traceFields } from '@commonplace/kit/telemetry';
import type { ParameterizedContext } from 'koa';
import { templateOf } from './observe.js';
import type { State } from './state.js';

type Context = ParameterizedContext<State>;

/** Writes the log line of a request when its last byte is sent or its client has disconnected. */
interface AccessEntry {
  /** Records the time in milliseconds after which the answer began. */
  answered(afterMs: number): void;
}

/** Milliseconds until the start of an answer above which a request is always logged. */
const SLOW_MS = 2000;
/** Maximum number of characters of `X-Client-Request-Id` that are logged. */
const CLIENT_REQUEST_ID_CHARS = 128;
/**
 * Matches the beginnings of credentials. A client that sends one as its request id by mistake does not find it in the
 * log.
 */
const CREDENTIAL = /wsk_|whsec_|eyJ|bearer/i;
const BEARER_KEY = /^bearer +(wsk_[po]_[0-9A-Za-z]{12})_/i;
const PROBES = '/health/';

/**
 * Starts the log entry of a request. A share of requests is logged, and always those that are slow or fail on our side.
 * The log contains only the route's template, never paths or queries, which contain tokens of hooks, share links and
 * pages. Of an API key it contains only the public prefix.
 */
export function beginEntry(ctx: Context, log: Log, share: number): AccessEntry {
  const { socket } = ctx.req;
  const began = performance.now();
  const written: number | undefined = socket.bytesWritten;
  const isProbe = ctx.path.startsWith(PROBES);
  const isSampled = !isProbe && share > 0 && (share >= 1 || Math.random() < share);
  let beganAnswerMs: number | undefined;

  const write = () => {
    const isFailure = ctx.res.statusCode >= 500 || (beganAnswerMs ?? 0) > SLOW_MS;
    const line = {
      ...identityOf(ctx),
      method: ctx.method,
      route: templateOf(ctx._matchedRoute),
      status: ctx.res.headersSent ? ctx.res.statusCode : undefined,
      duration_ms: beganAnswerMs === undefined ? undefined : Math.round(beganAnswerMs),
      sent_ms: Math.round(performance.now() - began),
      // The connection of a call within the process counts no bytes.
      bytes: written === undefined ? undefined : socket.bytesWritten - written,
      ...(ctx.res.writableFinished ? {} : { aborted: true }),
    };
    if (isFailure) log.warn('request.done', line);
    else log.info('request.done', line);
  };
  if (isSampled) ctx.res.once('close', write);

  return {
    answered(afterMs) {
      beganAnswerMs = afterMs;
      if (isSampled || isProbe || (ctx.status < 500 && afterMs <= SLOW_MS)) return;
      if (ctx.res.closed) write();
      else ctx.res.once('close', write);
    },
  };
}

/** Returns what is known about who made a request. */
function identityOf(ctx: Context): Record<string, unknown> {
  const { requestId, traceparent, clientIp, admitted, named } = ctx.state;
  const client = ctx.get('X-Client-Request-Id').slice(0, CLIENT_REQUEST_ID_CHARS);
  return {
    request_id: requestId,
    ...traceFields(traceparent),
    ...(ctx.state.batched === undefined ? {} : { batch: ctx.state.batched.requestId }),
    ...(client === '' || CREDENTIAL.test(client) ? {} : { client_request_id: client }),
    client: clientIp,
    tenant: tenantOf(admitted?.caller) ?? named?.orgId,
    principal: principalOf(admitted?.caller),
    key: BEARER_KEY.exec(ctx.req.headers.authorization ?? '')?.[1],
  };
}

function tenantOf(caller: Caller | undefined): string | undefined {
  if (caller?.tenant === undefined) return undefined;
  return caller.tenant.orgId ?? 'personal';
}

/** Returns the acting principal: the agent, else the person; undefined for visitors. */
function principalOf(caller: Caller | undefined): string | undefined {
  if (caller?.agent !== undefined) return `agent:${caller.agent.id}`;
  return caller === undefined || caller.userId === '' ? undefined : `user:${caller.userId}`;
}
