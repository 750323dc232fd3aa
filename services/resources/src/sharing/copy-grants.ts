import { InsufficientRole } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { type Grant, type GrantTerms, grantAt } from '../domain/grant.js';
import type { Node, Place } from '../domain/node.js';
import { splitPrincipal } from '../domain/principals.js';
import { isAtLeast, may } from '../domain/role.js';
import { insufficientScope } from '../errors.js';
import type { AccessSubject } from '../policy.js';
import { combineTerms, grantsOn, MAX_GRANTS_PER_NODE, putGrants, type RequestedGrant } from './grants.js';
import type { SharingParts } from './parts.js';

/** Returns the limits on the grants that a caller may copy to a place. Throws if they may not share there. */
export async function grantTerms(
  parts: SharingParts,
  source: Node,
  place: Place & { readonly id: string },
  subject: AccessSubject,
): Promise<GrantTerms> {
  const { caller, person } = subject;
  const asked = { ...source, ...place, principals: [] };
  const role = (await parts.policy.accessTo(asked, subject))?.role;
  if (role === undefined || !may(role, 'manage')) throw InsufficientRole({ role, needed: 'manager' });
  if (!caller.credential.scopes.includes('share:write')) throw insufficientScope('share:write');
  return { userId: caller.userId, role, workspaceIds: [...person.workspaces.keys()] };
}

/** Copies the grants of a node to its copy; a person who copies a restriction becomes its manager. */
export async function copyGrants(
  parts: SharingParts,
  from: Node,
  copy: Node,
  terms: GrantTerms,
  context: Pick<CallContext, 'work' | 'event' | 'actor'>,
): Promise<Node> {
  const now = new Date().toISOString();
  const requestedGrants = new Map<string, RequestedGrant>();
  const own = `user:${terms.userId}`;
  if (copy.restricted) requestedGrants.set(own, { principal: own, role: 'manager' });
  // A person who belongs to one Personal workspace need not belong to another.
  const found = from.principals.length > 0 && from.tenant === copy.tenant ? await grantsOn(parts, from) : [];
  for (const grant of found.flatMap((one) => grantAt(one, now) ?? []).filter((one) => isCopied(one, terms))) {
    const { principal, role, expiresAt, later } = grant;
    if (!requestedGrants.has(principal)) requestedGrants.set(principal, { principal, role, expiresAt, later });
    else requestedGrants.set(principal, { principal, ...combineTerms(grant, { role: 'manager' }, now) });
  }
  if (requestedGrants.size === 0) return copy;
  const some = [...requestedGrants.values()].slice(0, MAX_GRANTS_PER_NODE);
  return (await putGrants(parts, copy, some, { notify: false }, context)).node;
}

function isCopied(grant: Grant, { role, workspaceIds }: GrantTerms): boolean {
  const { kind, id } = splitPrincipal(grant.principal);
  if (kind === 'link' || kind === 'invitee') return false;
  return isAtLeast(role, grant.role) && (kind !== 'workspace' || workspaceIds.includes(id));
}
