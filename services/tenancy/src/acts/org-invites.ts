import { invalidField } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { fullOrgSettings } from '../domain/org-settings.js';
import type { OrgRole } from '../domain/roles.js';
import { isOfDomains, searchText } from '../domain/text.js';
import { AlreadyMember, LimitReached } from '../errors.js';
import { publishOrgMember } from '../events.js';
import type { Parts } from '../parts.js';
import { addressKeyOf, type OrgMember, personKeyOf } from '../stores/org-members.js';
import type { Org } from '../stores/orgs.js';
import { expiryOf, issueInvitation, revokeInvitations } from './invitations.js';
import { onlyOne, personByEmail, personById } from './people.js';

/** Whom an invitation is for. */
export interface Offered {
  readonly email: string;
  readonly name: string;
  /** The registered person of that address, if any. */
  readonly userId: string | undefined;
  /** Invited by name: nobody else may accept. */
  readonly byName: boolean;
}

/** A place with the link that accepts it. */
export interface Sent {
  readonly member: OrgMember;
  readonly url: string;
}

/** Whom a request invites. Throws where it names nobody, or an address that the Org does not take. */
export async function offeredPlace(
  parts: Parts,
  context: CallContext,
  org: Org,
  { email, userId }: { readonly email?: string | undefined; readonly userId?: string | undefined },
): Promise<Offered> {
  const field = onlyOne({ email, user_id: userId });
  const offered = userId === undefined ? await byAddress(parts, context, email as string) : await byName(userId);
  requireAllowedDomain(org, offered.email, field);
  return offered;

  async function byName(id: string): Promise<Offered> {
    return { ...(await personById(parts, context, id)), byName: true };
  }
}

async function byAddress(parts: Parts, context: CallContext, email: string): Promise<Offered> {
  const person = await personByEmail(parts, context, email);
  return { email: email.trim(), name: '', userId: person?.userId, byName: false };
}

/** Throws `invalid_value` where the Org takes addresses of certain domains alone, and not this one. */
export function requireAllowedDomain({ settings }: Org, email: string, param: string): void {
  const { allowedEmailDomains } = fullOrgSettings(settings);
  if (!isOfDomains(email, allowedEmailDomains)) {
    throw invalidField(param, 'invalid_value', `must have an address of ${allowedEmailDomains.join(', ')}.`);
  }
}

/** The open invitation of that person or address. Throws `already_member` where there is more than that. */
export async function requireUnused(
  { orgMembers }: Parts,
  orgId: string,
  { userId, email }: Offered,
): Promise<OrgMember | undefined> {
  const existing =
    (userId === undefined ? undefined : await orgMembers.ofPerson(orgId, userId)) ??
    (await orgMembers.ofAddress(orgId, email));
  if (existing !== undefined && existing.status !== 'invited') throw AlreadyMember();
  return existing;
}

/** Throws `limit_reached` where an Org is full. */
export async function requireRoom({ orgMembers, settings }: Parts, orgId: string): Promise<void> {
  const limit = settings.orgMembers;
  if ((await orgMembers.countPlaces(orgId, limit)) >= limit) throw LimitReached({ limit, what: 'members of an Org' });
}

/** Offers a place in an Org, and gives the link that accepts it. */
export function inviteToOrg(
  parts: Parts,
  context: CallContext,
  org: Org,
  offered: Offered,
  role: OrgRole,
  message: string | undefined,
): Sent {
  const member = offerPlace(parts, context, org, offered, role);
  const { id: orgMemberId, tenant, orgId, userId, email } = member;
  return { member, url: issueInvitation(parts, context, { tenant, orgId, orgMemberId, userId, email, message }) };
}

/** A place that is offered; the invitation that opens it is another record. */
export function offerPlace(
  parts: Parts,
  context: CallContext,
  org: Org,
  { email, name, userId, byName }: Offered,
  role: OrgRole,
  viaWorkspace?: true,
): OrgMember {
  const owner = byName && userId !== undefined ? { userId, personKey: personKeyOf(org.id, userId) } : undefined;
  const member = context.work.insert(parts.orgMembers.records, {
    id: newId(),
    tenant: org.id,
    orgId: org.id,
    ...(owner ?? { addressKey: addressKeyOf(org.id, email) }),
    name,
    email,
    search: searchText(name, email),
    role,
    status: 'invited',
    ...(viaWorkspace && { viaWorkspace }),
    ...invitedNow(parts, context),
  });
  publishOrgMember(context, 'added', member);
  return member;
}

function invitedNow(parts: Parts, context: CallContext) {
  const now = parts.now();
  return {
    invitedBy: context.caller.userId,
    invitedAt: now,
    inviteExpiresAt: expiryOf(now),
    updatedAt: now,
  };
}

/** Sends an open invitation again: a new link, and the old one is dead. A role that is given replaces the first. */
export async function sendAgain(
  parts: Parts,
  context: CallContext,
  member: OrgMember,
  role: OrgRole | undefined,
  message: string | undefined,
): Promise<Sent> {
  const invitations = await parts.invitations.ofOrgMember(member.id);
  revokeInvitations(
    parts,
    context,
    invitations.filter(({ workspaceId }) => workspaceId === undefined),
  );
  const { viaWorkspace: _, ...rest } = member;
  const sent = context.work.replace(parts.orgMembers.records, member, {
    ...rest,
    role: role ?? member.role,
    ...invitedNow(parts, context),
  });
  publishOrgMember(context, 'updated', sent);
  const { id: orgMemberId, tenant, orgId, userId, email } = sent;
  return { member: sent, url: issueInvitation(parts, context, { tenant, orgId, orgMemberId, userId, email, message }) };
}
