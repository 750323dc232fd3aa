import { InsufficientScope } from '@commonplace/kit/errors';
import type { Middleware } from 'koa';
import type { Route } from '../routes.js';
import type { State } from './state.js';

/**
 * Returns whether any of the scopes opens a route: its own scope, or one of its alternatives. No scope implies another.
 */
export function opens(route: Pick<Route, 'scope' | 'also'>, scopes: readonly string[]): boolean {
  return route.scope === 'none' || scopes.includes(route.scope) || route.also.some((scope) => scopes.includes(scope));
}

/** Creates the scope gate of a route. */
export function requireScope(route: Route): Middleware<State> {
  if (route.scope === 'public') return (_, next) => next();
  return (ctx, next) => {
    // A route that requires a signed-in person but no scope is closed to credentials without a person.
    const { userId } = ctx.state.admitted.caller;
    if (route.scope === 'none' && userId === '') throw InsufficientScope({ scope: route.scope });
    if (!opens(route, ctx.state.admitted.caller.credential.scopes)) throw InsufficientScope({ scope: route.scope });
    return next();
  };
}
