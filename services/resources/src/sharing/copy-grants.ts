import { InsufficientRole } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { type Copier, type Grant, type GrantTerm, type GrantTerms, grantAt, termsOf } from '../domain/grant.js';
import type { Node, Place } from '../domain/node.js';
import { splitPrincipal } from '../domain/principals.js';
import { isAtLeast, may } from '../domain/role.js';
import { insufficientScope } from '../errors.js';
import type { AccessSubject } from '../policy.js';
import { combineTerms, grantsOn, MAX_GRANTS_PER_NODE, mergeTerms, putGrants, type RequestedGrant } from './grants.js';
import { endOf, NO_END, ownTerms } from './own-terms.js';
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
  const own = await ownTerms(parts.policy, asked, subject);
  const role = own[0]?.role;
  if (role === undefined || !may(role, 'manage')) throw InsufficientRole({ role, needed: 'manager' });
  if (!caller.credential.scopes.includes('share:write')) throw insufficientScope('share:write');
  return { userId: caller.userId, role, own, workspaceIds: [...person.workspaces.keys()] };
}

/** Makes the person who copies a restricted node the manager of its copy. */
export async function keepCopier(
  parts: SharingParts,
  copy: Node,
  { userId, expiresAt }: Copier,
  context: Pick<CallContext, 'work' | 'event' | 'actor'>,
): Promise<Node> {
  const own = { principal: `user:${userId}`, role: 'manager', expiresAt } as const;
  return (await putGrants(parts, copy, [own], { notify: false }, context)).node;
}

/** Copies the grants of a node to its copy; a person who copies a restriction becomes its manager. */
export async function copyGrants(
  parts: SharingParts,
  from: Node,
  copy: Node,
  terms: GrantTerms,
  { expiresAt: end }: Pick<Copier, 'expiresAt'>,
  context: Pick<CallContext, 'work' | 'event' | 'actor'>,
): Promise<Node> {
  const now = new Date().toISOString();
  const requestedGrants = new Map<string, RequestedGrant>();
  const own = `user:${terms.userId}`;
  const kept = { role: 'manager', expiresAt: end } as const;
  if (copy.restricted) requestedGrants.set(own, { principal: own, ...kept });
  // A person who belongs to one Personal workspace need not belong to another.
  const found = from.principals.length > 0 && from.tenant === copy.tenant ? await grantsOn(parts, from) : [];
  const valid = found.flatMap((one) => grantAt(one, now) ?? []).filter((one) => isCopied(one, terms));
  for (const grant of valid.map((one) => within(one, terms))) {
    const { principal, role, expiresAt, later } = grant;
    if (!requestedGrants.has(principal)) requestedGrants.set(principal, { principal, role, expiresAt, later });
    else requestedGrants.set(principal, { principal, ...combineTerms(grant, kept, now) });
  }
  if (requestedGrants.size === 0) return copy;
  const some = [...requestedGrants.values()].slice(0, MAX_GRANTS_PER_NODE);
  return (await putGrants(parts, copy, some, { notify: false }, context)).node;
}

/** Returns a grant that ends when the caller's own roles at the destination do. */
function within(grant: Grant, { own }: GrantTerms): Grant {
  if (own === undefined) return grant;
  const terms = termsOf(grant).map(({ role, expiresAt = NO_END }): GrantTerm => {
    const end = [expiresAt, endOf(own, role) ?? ''].sort()[0] as string;
    return { role, expiresAt: end === NO_END ? undefined : end };
  });
  return { ...grant, later: undefined, ...mergeTerms(terms) };
}

function isCopied(grant: Grant, { role, workspaceIds }: GrantTerms): boolean {
  const { kind, id } = splitPrincipal(grant.principal);
  if (kind === 'link' || kind === 'invitee') return false;
  return isAtLeast(role, grant.role) && (kind !== 'workspace' || workspaceIds.includes(id));
}
