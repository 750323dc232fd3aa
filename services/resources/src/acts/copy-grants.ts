import { InsufficientRole } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { isAtLeast, may, type Role } from '../domain/access.js';
import { splitPrincipal } from '../domain/principals.js';
import { insufficientScope } from '../errors.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import { type Grant, isExpired } from '../stores/grants.js';
import type { Node, Place } from '../stores/nodes.js';
import { GRANTS_PER_NODE, grantsOn, greaterRole, putGrants, type Wish } from './grants.js';

/** Who copies grants, and how far they may. */
export interface GrantTerms {
  readonly userId: string;
  /** The caller's role in the new place: they give none above it. */
  readonly role: Role;
  /** The workspaces that they may name in a grant. */
  readonly workspaceIds: readonly string[];
}

/** What a caller may copy of grants to a place. Throws where they may not share there. */
export async function grantTerms(
  parts: Parts,
  source: Node,
  place: Place & { readonly id: string },
  standing: Standing,
): Promise<GrantTerms> {
  const { caller, person } = standing;
  const asked = { ...source, ...place, principals: [] };
  const role = (await parts.policy.accessTo(asked, standing))?.role;
  if (role === undefined || !may(role, 'manage')) throw InsufficientRole({ role, needed: 'manager' });
  if (!caller.credential.scopes.includes('share:write')) throw insufficientScope('share:write');
  return { userId: caller.userId, role, workspaceIds: [...person.workspaces.keys()] };
}

/** Grants on a copy what is granted on its source; who restricts it stays its manager. */
export async function copyGrants(
  parts: Parts,
  from: Node,
  copy: Node,
  terms: GrantTerms,
  context: Pick<CallContext, 'work' | 'event' | 'actor'>,
): Promise<Node> {
  const now = new Date().toISOString();
  const wishes = new Map<string, Wish>();
  const own = `user:${terms.userId}`;
  if (copy.restricted) wishes.set(own, { principal: own, role: 'manager' });
  // Who belongs to one Personal workspace need not belong to another.
  const found = from.principals.length > 0 && from.tenant === copy.tenant ? await grantsOn(parts, from) : [];
  for (const { principal, role, expiresAt } of found.filter((grant) => isCopied(grant, terms, now))) {
    if (!wishes.has(principal)) wishes.set(principal, { principal, role, expiresAt });
    else wishes.set(principal, { principal, role: expiresAt === undefined ? greaterRole(role, 'manager') : 'manager' });
  }
  if (wishes.size === 0) return copy;
  const some = [...wishes.values()].slice(0, GRANTS_PER_NODE);
  return (await putGrants(parts, copy, some, { notify: false }, context)).node;
}

function isCopied(grant: Grant, { role, workspaceIds }: GrantTerms, now: string): boolean {
  const { kind, id } = splitPrincipal(grant.principal);
  if (kind === 'link' || kind === 'invitee' || isExpired(grant, now)) return false;
  return isAtLeast(role, grant.role) && (kind !== 'workspace' || workspaceIds.includes(id));
}
