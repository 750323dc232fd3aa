import { observesRequests, passedOn, requestDone, requestSpan, type Span } from '@commonplace/kit/telemetry';
import type { ParameterizedContext } from 'koa';
import type { State } from './state.js';

type Context = ParameterizedContext<State>;

/**
 * Decides whether a request is traced: for all that comes of it, in every process, and before anything is made for it.
 * Its span goes with its calls and is nowhere kept for what runs: requests wait for each other's answers here, and a
 * storage that follows each of them would slow all.
 */
export function beginTrace(ctx: Context): Span | undefined {
  const { traceparent } = ctx.req.headers;
  const given = typeof traceparent === 'string' ? traceparent : undefined;
  const span = isObserved(ctx) ? requestSpan(ctx.method, ctx.protocol, given) : undefined;
  ctx.state.traceparent = passedOn(span, given);
  return span;
}

/** Measures a request whose answer begins now, and ends its span. */
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

/** `/api/v1/resources/:resource_id` as the API's description has it. */
function templateOf(route: unknown): string | undefined {
  if (typeof route !== 'string') return undefined;
  let template = templates.get(route);
  if (template === undefined) {
    template = route.replace(/:(\w+)/g, '{$1}');
    templates.set(route, template);
  }
  return template;
}
