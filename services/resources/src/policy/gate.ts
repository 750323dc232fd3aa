import { reachesWorkspace } from '@commonplace/kit/auth';
import type { Grant } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import type { AccessSubject } from './port.js';

/**
 * Returns whether a person belongs to a tenant. This is the tenant gate: other tenants' data does not exist for them.
 */
export function belongs(tenant: string, { own }: Pick<AccessSubject, 'own'>): boolean {
  return own.orgs.has(tenant) || own.workspaces.has(tenant);
}

/** Returns whether the credential of the call reaches the workspace of a node. */
export function isReached(
  { workspaceId, orgId }: Pick<Node, 'workspaceId' | 'orgId'>,
  { caller }: AccessSubject,
): boolean {
  return reachesWorkspace(caller, workspaceId, orgId);
}

/** Returns the grant of a presented link that is open to anyone who is signed in. */
export function publicLink({ link }: AccessSubject): Grant | undefined {
  return link?.link?.audience === 'anyone' ? link : undefined;
}
