import {
  observesRequests,
  passedOn,
  receivedTrace,
  requestDone,
  requestSpan,
  type Span,
} from '@commonplace/kit/telemetry';
import type { ParameterizedContext } from 'koa';
import type { State } from './state.js';

type Context = ParameterizedContext<State>;

/**
 * Decides whether a request is traced in all processes that serve it. Runs before any other work. The span is passed
 * along with calls rather than kept in an async context: requests wait for each other's answers here, and a context
 * that follows each of them would slow down all. A client names the trace, but decides about sampling only if it is
 * trusted.
 */
export function beginTrace(ctx: Context, clientDecides: boolean): Span | undefined {
  const given = receivedTrace(ctx.req.headers);
  const span = isObserved(ctx) ? requestSpan(ctx.method, ctx.protocol, given, clientDecides) : undefined;
  ctx.state.traceparent = passedOn(span, given, clientDecides);
  return span;
}

/** Records the duration of a request when its answer begins, and ends its span. */
export function endTrace(ctx: Context, span: Span | undefined, seconds: number): void {
  if (!isObserved(ctx)) return;
  const { method, status } = ctx;
  const { requestId } = ctx.state;
  requestDone(span, { method, route: templateOf(ctx._matchedRoute), status, seconds, requestId });
}

function isObserved(ctx: Context): boolean {
  return observesRequests() && !ctx.path.startsWith(PROBES);
}

const PROBES = '/health/';

const templates = new Map<string, string>();

/** Returns a route's path in the notation of the OpenAPI document: `/api/v1/resources/{resource_id}`. */
export function templateOf(route: unknown): string | undefined {
  if (typeof route !== 'string') return undefined;
  let template = templates.get(route);
  if (template === undefined) {
    template = route.replace(/:(\w+)/g, '{$1}');
    templates.set(route, template);
  }
  return template;
}
