import { CALL_SECONDS } from './buckets.js';
import { counter, histogram, type Recorder } from './instruments.js';
import { headSpan, readTraceparent, type Span, signals } from './trace.js';

const durations = histogram(
  { name: 'http.server.request.duration', unit: 's', description: 'Duration of HTTP requests that were served.' },
  CALL_SECONDS,
);

/** Requests that were refused by a rate limit, by its policy. */
export const rateLimited = counter({
  name: 'ratelimit.rejected',
  unit: '{request}',
  description: 'Requests refused by a rate limit.',
});

/** Requests that their caller may not make, by the reason that they were told. */
export const denied = counter({
  name: 'authz.denied',
  unit: '{request}',
  description: 'Requests refused for want of a scope or a role.',
});

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A request that was answered. */
export interface Answered {
  readonly method: string;
  /** Its template (`/api/v1/resources/{resource_id}`), which stands for the path too: that may hold ids and tokens. */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
}

/** Whether anybody wants to know of requests. */
export function observesRequests(): boolean {
  return signals.measuring || signals.tracer !== undefined;
}

/** The span of a request, if that is sampled: the decision for all that follows from it. */
export function requestSpan(method: string, scheme: string, traceparent: string | undefined): Span | undefined {
  const known = methodOf(method);
  return headSpan(traceparent, known, 'server', () => ({ 'http.request.method': known, 'url.scheme': scheme }));
}

/** What a request passes on of its trace: its own span, else what it came with, where that is a trace. */
export function passedOn(span: Span | undefined, traceparent: string | undefined): string | undefined {
  if (span !== undefined) return span.traceparent;
  return traceparent !== undefined && readTraceparent(traceparent) !== undefined ? traceparent : undefined;
}

/** Tells of a request that was answered. */
export function requestDone(span: Span | undefined, { method, route, status, seconds, requestId }: Answered): void {
  const known = methodOf(method);
  if (signals.measuring) seriesOf(known, route, status).record(seconds);
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

/** Methods that a client has made up are one series. */
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
