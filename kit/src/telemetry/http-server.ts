import { CALL_SECONDS } from './buckets.js';
import { counter, gauge, histogram, type Recorder } from './instruments.js';
import { headSpan, readTraceparent, type Span, signals, traceContext } from './trace.js';

const durations = histogram(
  'http.server.request.duration',
  's',
  'Duration of HTTP requests that were served.',
  CALL_SECONDS,
);

/** Counts requests that a rate limit refused, by its policy. */
export const rateLimited = counter('ratelimit.rejected', '{request}', 'Requests refused by a rate limit.');

/** Counts requests that the caller was not allowed to make, by the reason in the response. */
export const denied = counter('authz.denied', '{request}', 'Requests refused for want of a scope or a role.');

/** Counts the requests that are being answered, until `requestEnded`. */
let open = 0;
gauge('http.server.active_requests', '{request}', 'Requests that are being answered, streams among them.').observe(
  () => [{ attributes: {}, value: open }],
);

/** Counts a request as being answered, until the function that it returns is called. */
export function requestBegun(): () => void {
  open++;
  return () => {
    open--;
  };
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A request that was answered. */
interface Answered {
  readonly method: string;
  /**
   * Template of the path (`/api/v1/resources/{resource_id}`). It replaces the path, which may contain ids and tokens.
   */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
}

/** Returns whether metrics or traces of requests are collected. */
export function observesRequests(): boolean {
  return signals.measuring || signals.tracer !== undefined;
}

/**
 * Starts the span of a request if the request is sampled, which decides for all calls that it causes. The span belongs
 * to the client's trace if the request names one. This process decides on sampling, unless the client is trusted to.
 */
export function requestSpan(
  method: string,
  scheme: string,
  traceparent: string | undefined,
  clientDecides: boolean,
): Span | undefined {
  const known = methodOf(method);
  const attributes = () => ({ 'http.request.method': known, 'url.scheme': scheme });
  return headSpan({ traceparent, clientDecides }, known, 'server', attributes);
}

/** Returns the trace context of a client's headers, unless this installation takes none from outside. */
export function receivedTrace({ traceparent, tracestate }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof traceparent !== 'string' || !signals.propagating) return undefined;
  return traceContext(traceparent, typeof tracestate === 'string' ? tracestate : undefined);
}

/**
 * Returns the trace context to propagate: the request's own span, otherwise the trace that it arrived with. The latter
 * is marked as not sampled, so that no other process samples it either, unless the client is trusted to decide.
 */
export function passedOn(
  span: Span | undefined,
  traceparent: string | undefined,
  clientDecides: boolean,
): string | undefined {
  if (span !== undefined) return span.traceparent;
  const parent = traceparent === undefined ? undefined : readTraceparent(traceparent);
  if (parent === undefined || clientDecides) return parent && traceparent;
  const { tracestate } = parent;
  return `00-${parent.traceId}-${parent.spanId}-00${tracestate === undefined ? '' : `;${tracestate}`}`;
}

/** Records a request that was answered. */
export function requestDone(span: Span | undefined, { method, route, status, seconds, requestId }: Answered): void {
  const known = methodOf(method);
  if (signals.measuring) seriesOf(known, route, status).record(seconds, span);
  if (span === undefined) return;
  if (route !== undefined) {
    span.rename(`${known} ${route}`);
    span.set('http.route', route);
    span.set('url.path', route);
  }
  span.set('commonplace.request_id', requestId);
  span.set('http.response.status_code', status);
  span.end(status >= 500 ? String(status) : undefined);
}

/** Returns the method, or `_OTHER` for an unknown one, so that methods invented by clients form one series. */
function methodOf(method: string): string {
  return METHODS.has(method) ? method : '_OTHER';
}

const series = new Map<string, Map<string, Map<number, Recorder>>>();

function seriesOf(method: string, route: string | undefined, status: number): Recorder {
  const byStatus = statusesOf(method, route ?? '');
  let recorder = byStatus.get(status);
  if (recorder === undefined) {
    recorder = durations.bind({
      'http.request.method': method,
      ...(route === undefined ? {} : { 'http.route': route }),
      'http.response.status_code': status,
      ...(status >= 500 ? { 'error.type': String(status) } : {}),
    });
    byStatus.set(status, recorder);
  }
  return recorder;
}

function statusesOf(method: string, route: string): Map<number, Recorder> {
  let byRoute = series.get(method);
  if (byRoute === undefined) {
    byRoute = new Map();
    series.set(method, byRoute);
  }
  let byStatus = byRoute.get(route);
  if (byStatus === undefined) {
    byStatus = new Map();
    byRoute.set(route, byStatus);
  }
  return byStatus;
}
