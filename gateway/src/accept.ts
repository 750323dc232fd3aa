import type { ParameterizedContext } from 'koa';

/** Returns whether `Accept` of a request names a media type itself, and not with `q=0`. Wildcards name none. */
export function asksFor(ctx: Pick<ParameterizedContext, 'accepts'>, type: string): boolean {
  return [ctx.accepts()].flat().some((named) => String(named).toLowerCase() === type);
}
