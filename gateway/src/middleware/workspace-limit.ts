import { type Caller, credentialOutOfScope } from '@commonplace/kit/auth';
import { WorkspaceLimit } from '@commonplace/proto/api/v1/access.js';
import type { Route } from '../routes.js';

const REACHED: ReadonlySet<WorkspaceLimit> = new Set([
  WorkspaceLimit.ADDRESSED,
  WorkspaceLimit.FILTERED,
  WorkspaceLimit.OPEN,
]);

/**
 * Returns whether a caller's credential may use a route. A credential limited to workspaces may use only the routes
 * that the contract opens to it.
 */
export function isWithinLimit({ workspaceLimit }: Pick<Route, 'workspaceLimit'>, { credential }: Caller): boolean {
  return credential.workspaceIds === undefined || REACHED.has(workspaceLimit);
}

/** Refuses requests that address an Org or the person's whole tenant with a credential limited to workspaces. */
export function requireWithinLimit(route: Pick<Route, 'workspaceLimit'>, caller: Caller): void {
  if (!isWithinLimit(route, caller)) throw credentialOutOfScope(caller);
}
