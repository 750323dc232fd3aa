import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import type { StoredRecord } from '@commonplace/kit/store';
import type { Role } from './role.js';

/** A role with its expiry time; without `expiresAt` it does not expire. */
export interface GrantTerm {
  readonly role: Role;
  readonly expiresAt?: string | undefined;
}

/** A role that a principal was given on one node; it applies to all descendants, down to the next restricted node. */
export interface Grant extends StoredRecord {
  /** Derived by `grantId`, so that concurrent grants to the same principal write the same record. */
  readonly id: string;
  readonly tenant: string;
  readonly workspaceId: string;
  readonly resourceId: string;
  /**
   * `user:<id>`, `agent:<id>`, `org:<id>`, `workspace:<id>`, `group:<id>`, `link:<hash of the token>`, or
   * `invitee:<place>`: an open invitation to the workspace, whose grants go to the person who accepts it.
   */
  readonly principal: string;
  readonly role: Role;
  readonly grantedBy: Actor;
  readonly createdAt: string;
  /** Time (RFC 3339) when the role expires. */
  readonly expiresAt?: string | undefined;
  /** Lesser roles that apply after `expiresAt`, in order, each lasting longer than the one before. */
  readonly later?: readonly GrantTerm[] | undefined;
  /** For an invitee: the address that was invited. */
  readonly email?: string | undefined;
  readonly link?: { readonly token: string; readonly audience: 'org' | 'anyone' } | undefined;
}

/** Returns the id of a principal's grant on a node. A node has at most one link, whatever the link's token. */
export function grantId(resourceId: string, principal: string): string {
  return derivedId(`grant:${resourceId}:${principal.startsWith('link:') ? 'link' : principal}`);
}

/** Returns a grant with the role that is valid at a time (RFC 3339), or undefined if all of its terms have expired. */
export function grantAt(grant: Grant, now: string): Grant | undefined {
  if (!isOver(grant, now)) return grant;
  const left = (grant.later ?? []).filter((term) => !isOver(term, now));
  const [term, ...later] = left;
  if (term === undefined) return undefined;
  return { ...grant, role: term.role, expiresAt: term.expiresAt, later: later.length === 0 ? undefined : later };
}

/** Returns whether all terms of a grant have expired at a time (RFC 3339). */
export function isExpired(grant: Pick<Grant, 'expiresAt' | 'later'>, now: string): boolean {
  return isOver(grant, now) && (grant.later ?? []).every((term) => isOver(term, now));
}

function isOver({ expiresAt }: Pick<Grant, 'expiresAt'>, now: string): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

/** Returns the terms of a grant, the greatest role first. */
export function termsOf({ role, expiresAt, later = [] }: Pick<Grant, 'role' | 'expiresAt' | 'later'>): GrantTerm[] {
  return [{ role, expiresAt }, ...later];
}

/** The person who becomes the manager of restricted copies, as long as they may write at the destination. */
export interface Copier {
  readonly userId: string;
  readonly expiresAt?: string | undefined;
}

/** The limits on the grants that a caller may copy. */
export interface GrantTerms {
  readonly userId: string;
  /** The caller's role at the destination; no copied grant exceeds it. */
  readonly role: Role;
  /** The caller's roles at the destination from then on; no copied grant outlasts them. Absent in earlier plans. */
  readonly own?: readonly GrantTerm[];
  /** Ids of the workspaces that the caller may name in a grant. */
  readonly workspaceIds: readonly string[];
}
