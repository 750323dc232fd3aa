import { invalidField } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { AddOrgMemberRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import { fullOrgSettings } from '../domain/org-settings.js';
import type { OrgRole } from '../domain/roles.js';
import { isOfDomains, searchText } from '../domain/text.js';
import { AlreadyMember } from '../errors.js';
import { publishOrgMember } from '../events.js';
import type { Parts } from '../parts.js';
import { addressKeyOf, type OrgMember, personKeyOf } from '../stores/org-members.js';
import type { Org } from '../stores/orgs.js';
import { changedNow } from './changed-now.js';
import { expiryOf, issueInvitation, revokeInvitations } from './invitations.js';
import { personByEmail, personById, requireOneOf } from './people.js';

/** The person or address that an invitation is for. */
interface Invitee {
  readonly email: string;
  readonly name: string;
  /** Id of the registered person with that address, if any. */
  readonly userId: string | undefined;
  /** Set if any holder of the link may accept. */
  readonly anyAccount?: true | undefined;
  /** Whether the person is invited by id: no one else may accept. */
  readonly byName: boolean;
}

/** An invited membership and the link that accepts it. */
interface SentInvitation {
  readonly member: OrgMember;
  readonly url: string;
}

/**
 * Returns the person or address that a request invites. Throws if it names no one, or an address that the Org does
 * not allow.
 */
export async function readInvitee(
  parts: Parts,
  context: CallContext,
  org: Org,
  { email, userId, anyAccount }: Pick<AddOrgMemberRequest, 'email' | 'userId' | 'anyAccount'>,
): Promise<Invitee> {
  const field = requireOneOf({ email, user_id: userId });
  requireAddressed(field, anyAccount);
  const offered =
    userId === undefined ? await byAddress(parts, context, email as string, anyAccount) : await byName(userId);
  requireAllowedDomain(org, offered.email, field);
  return offered;

  async function byName(id: string): Promise<Invitee> {
    return { ...(await personById(parts, context, id)), byName: true };
  }
}

/** Throws if an invitation is open to any account but names a person. */
export function requireAddressed(field: string, anyAccount: boolean): void {
  if (anyAccount && field !== 'email')
    throw invalidField('any_account', 'invalid_value', 'can only be combined with email.');
}

async function byAddress(parts: Parts, context: CallContext, email: string, anyAccount: boolean): Promise<Invitee> {
  const person = await personByEmail(parts, context, email);
  return { email: email.trim(), name: '', userId: person?.userId, byName: false, anyAccount: anyAccount || undefined };
}

/** Throws `invalid_value` if the Org restricts e-mail domains and the address is of another one. */
export function requireAllowedDomain({ settings }: Org, email: string, param: string): void {
  const { allowedEmailDomains } = fullOrgSettings(settings);
  if (!isOfDomains(email, allowedEmailDomains)) {
    throw invalidField(
      param,
      'invalid_value',
      `must have an address at one of the domains ${allowedEmailDomains.join(', ')}.`,
    );
  }
}

/**
 * Returns the open invitation of that person or address, if any. Throws `already_member` if they are a member,
 * suspended or not.
 */
export async function requireUnused(
  { orgMembers }: Parts,
  orgId: string,
  { userId, email }: Invitee,
): Promise<OrgMember | undefined> {
  const existing =
    (userId === undefined ? undefined : await orgMembers.ofPerson(orgId, userId)) ??
    (await orgMembers.ofAddress(orgId, email));
  if (existing !== undefined && existing.status !== 'invited') throw AlreadyMember();
  return existing;
}

/** Invites a person to an Org. Returns the invited membership and the link that accepts it. */
export async function inviteToOrg(
  parts: Parts,
  context: CallContext,
  org: Org,
  offered: Invitee,
  role: OrgRole,
  message: string | undefined,
): Promise<SentInvitation> {
  const member = await offerOrgMembership(parts, context, org, offered, role);
  const { id: orgMemberId, tenant, orgId, userId, email } = member;
  const { anyAccount } = offered;
  const offer = { tenant, orgId, orgMemberId, userId, email, message, ...(anyAccount && { anyAccount }) };
  return { member, url: await issueInvitation(parts, context, offer, org.name) };
}

/**
 * Creates an invited membership; the invitation that opens it is a separate record. Throws `limit_reached` if the
 * Org is full.
 */
export async function offerOrgMembership(
  parts: Parts,
  context: CallContext,
  org: Org,
  { email, name, userId, byName }: Invitee,
  role: OrgRole,
  viaWorkspace?: true,
): Promise<OrgMember> {
  await parts.quotas.orgMembers.reserve(context.work, org.id);
  const owner = byName && userId !== undefined ? { userId, personKey: personKeyOf(org.id, userId) } : undefined;
  const member = context.work.insert(parts.orgMembers.records, {
    id: newId(),
    tenant: org.id,
    orgId: org.id,
    ...(owner ?? { addressKey: addressKeyOf(org.id, email) }),
    name,
    email,
    // Search does not find a person invited by id before they accept.
    search: byName ? '' : searchText(name, email),
    role,
    status: 'invited',
    ...(viaWorkspace && { viaWorkspace }),
    ...invitedNow(parts, context),
  });
  publishOrgMember(context, 'added', member);
  return member;
}

function invitedNow(parts: Parts, context: CallContext) {
  const stamps = changedNow(parts, context);
  return {
    ...stamps,
    invitedBy: context.caller.userId,
    inviter: context.actor,
    invitedAt: stamps.updatedAt,
    inviteExpiresAt: expiryOf(stamps.updatedAt),
  };
}

/**
 * Sends an open invitation again with a new link, which invalidates the old one. `role` replaces the first one if
 * given.
 */
export async function sendAgain(
  parts: Parts,
  context: CallContext,
  member: OrgMember,
  role: OrgRole | undefined,
  message: string | undefined,
  anyAccount: true | undefined,
): Promise<SentInvitation> {
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
  const org = await parts.orgs.records.get(orgId);
  const offer = { tenant, orgId, orgMemberId, userId, email, message, ...(anyAccount && { anyAccount }) };
  return { member: sent, url: await issueInvitation(parts, context, offer, org?.name ?? '') };
}
