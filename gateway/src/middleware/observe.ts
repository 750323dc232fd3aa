import { observesRequests, passedOn, requestDone, requestSpan } from '@commonplace/kit/telemetry';
import type { Middleware } from 'koa';
import type { State } from './state.js';

/**
 * Measures each request until its answer begins, and decides whether it is traced: for all that comes of it, in every
 * process, and before anything is made for it. Its span goes with its calls and is nowhere kept for what runs: requests
 * wait for each other's answers here, and a storage that follows each of them would slow all.
 */
export function observeRequests(): Middleware<State> {
  return (ctx, next) => {
    const { traceparent } = ctx.req.headers;
    const given = typeof traceparent === 'string' ? traceparent : undefined;
    if (!observesRequests() || ctx.path.startsWith(PROBES)) {
      ctx.state.traceparent = passedOn(undefined, given);
      return next();
    }
    const started = performance.now();
    const span = requestSpan(ctx.method, ctx.protocol, given);
    ctx.state.traceparent = passedOn(span, given);
    const done = () =>
      requestDone(span, {
        method: ctx.method,
        route: templateOf(ctx._matchedRoute),
        status: ctx.status,
        seconds: (performance.now() - started) / 1000,
        requestId: ctx.state.requestId,
      });
    return next().then(done, (error) => {
      done();
      throw error;
    });
  };
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
