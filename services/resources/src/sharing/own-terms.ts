import type { GrantTerm } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { isAtLeast, type Role } from '../domain/role.js';
import { RoleEscalation } from '../errors.js';
import type { AccessSubject, Policy, Seen } from '../policy.js';

/** Sorts after every RFC 3339 time. */
export const NO_END = '~';

/**
 * Returns the roles that the caller has on a node from now on, the greatest first. They only lessen, as grants expire;
 * the last one has no end if the caller keeps any.
 */
export async function ownTerms(policy: Policy, node: Node, subject: AccessSubject): Promise<GrantTerm[]> {
  const terms: GrantTerm[] = [];
  for (let now = subject.now; ; ) {
    const access = await policy.accessTo(node, at(subject, now));
    if (access === undefined) return terms;
    const { role, expiresAt } = access;
    terms.push({ role, expiresAt });
    if (expiresAt === undefined) return terms;
    now = expiresAt;
  }
}

/** Returns a subject as it will be at a later time, if nothing changes but that grants expire. */
function at(subject: AccessSubject, now: string): AccessSubject {
  return { ...subject, now, author: subject.author && at(subject.author, now) };
}

/** Returns when terms last give a role: undefined if they never give it, `NO_END` if it does not end. */
export function endOf(terms: readonly GrantTerm[], role: Role): string | undefined {
  const last = terms.findLast((term) => isAtLeast(term.role, role));
  return last && (last.expiresAt ?? NO_END);
}

/** Throws `role_escalation` for a role that would outlast the caller's own, unless its holder has it already. */
export function requireLasting(own: readonly GrantTerm[], wanted: GrantTerm, held: readonly GrantTerm[] = []): void {
  const until = endOf(own, wanted.role) ?? '';
  const wantedEnd = wanted.expiresAt ?? NO_END;
  if (wantedEnd <= until || wantedEnd <= (endOf(held, wanted.role) ?? '')) return;
  throw RoleEscalation(
    { own: own[0]?.role, until },
    { message: `You cannot grant a role beyond the end of your own: expires_at must be ${until} at the latest.` },
  );
}

/** Returns when the right of a caller to a node that gives them at least a role ends; undefined if it does not. */
export async function endOfOwn(
  policy: Policy,
  { node, access }: Pick<Seen, 'node' | 'access'>,
  role: Role,
  subject: AccessSubject,
): Promise<string | undefined> {
  if (access.expiresAt === undefined) return undefined;
  const end = endOf(await ownTerms(policy, node, subject), role) ?? access.expiresAt;
  return end === NO_END ? undefined : end;
}
