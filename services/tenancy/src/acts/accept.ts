import type { AppError } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { foldEmail } from '@commonplace/kit/words';
import { fullOrgSettings } from '../domain/org-settings.js';
import type { Person } from '../domain/person.js';
import { greaterOrgRole } from '../domain/roles.js';
import { isOfDomains, searchText } from '../domain/text.js';
import { EmailDomainNotAllowed, ExternalSharingDisabled, InvitationAddressMismatch } from '../errors.js';
import { publishingAs, publishOrgMember, publishWorkspaceMember } from '../events.js';
import type { Parts } from '../parts.js';
import type { Invitation } from '../stores/invitations.js';
import { type OrgMember, personKeyOf } from '../stores/org-members.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';
import { endOrgMembership } from './invitations.js';
import { syncWorkspaceMemberships } from './org-place.js';
import { holdPlaces } from './owners.js';

/** Turns the invitations that a person accepts in one call into memberships. */
export interface Acceptance {
  /**
   * Returns the reason why this person may not accept: the invitation's address, their domain, or that the Org allows no
   * guests from outside; undefined if they may.
   */
  refusalOf(invitation: Invitation): Promise<AppError | undefined>;
  /** Accepts an invitation. Returns false, and writes nothing, if it offers this person nothing (any more). */
  accept(invitation: Invitation): Promise<boolean>;
}

/** The current memberships that an invitation concerns: those that the person has, and those that it offers. */
interface Places {
  readonly orgExisting: OrgMember | undefined;
  readonly orgOffered: OrgMember | undefined;
  readonly existing: WorkspaceMember | undefined;
  readonly offered: WorkspaceMember | undefined;
}

export function createAcceptance(parts: Parts, context: CallContext, person: Person): Acceptance {
  // Queries do not see what this unit of work has written, so memberships made in this call are remembered here.
  const orgPlaces = new Map<string, OrgMember>();
  const workspacePlaces = new Map<string, WorkspaceMember>();
  const { work } = context;

  async function placesOf({ orgId, orgMemberId, workspaceId, workspaceMemberId }: Invitation): Promise<Places> {
    const orgOffered = orgMemberId && (await work.get(parts.orgMembers.records, orgMemberId));
    const offered = workspaceMemberId && (await work.get(parts.workspaceMembers.records, workspaceMemberId));
    return {
      orgExisting: orgId && (orgPlaces.get(orgId) ?? (await parts.orgMembers.ofPerson(orgId, person.userId))),
      orgOffered: orgOffered && mayAccept(orgOffered, workspaceId) ? orgOffered : undefined,
      existing:
        workspaceId &&
        (workspacePlaces.get(workspaceId) ?? (await parts.workspaceMembers.ofPerson(workspaceId, person.userId))),
      offered: offered && offered.status === 'invited' ? offered : undefined,
    } as Places;
  }

  /** Members of an Org pass, whatever it does not allow to others: they may join its workspaces. */
  async function refusalOf(invitation: Invitation): Promise<AppError | undefined> {
    if (!isAddressed(invitation, person)) return InvitationAddressMismatch();
    const { orgId } = invitation;
    const org = orgId === undefined ? undefined : await parts.orgs.records.get(orgId);
    if (org === undefined) return undefined;
    const { allowedEmailDomains, allowExternalSharing } = fullOrgSettings(org.settings);
    const isOfDomain = isOfDomains(person.email, allowedEmailDomains);
    const bringsGuest = invitation.workspaceId !== undefined;
    if (isOfDomain && (allowExternalSharing || !bringsGuest)) return undefined;
    const here = orgPlaces.get(org.id) ?? (await parts.orgMembers.ofPerson(org.id, person.userId));
    if (here?.status === 'active') return undefined;
    if (isOfDomain) return ExternalSharingDisabled();
    return EmailDomainNotAllowed({ domains: allowedEmailDomains.join(', ') });
  }

  return {
    refusalOf,
    async accept(invitation) {
      if (invitation.userId !== undefined && invitation.userId !== person.userId) return false;
      if (!(await hasTarget(parts, invitation)) || (await refusalOf(invitation)) !== undefined) return false;
      const places = await placesOf(invitation);
      if (!offersMembership(invitation, places)) return false;
      const { orgId, workspaceId } = invitation;
      const inOrg =
        orgId === undefined ? undefined : await acceptOrgMembership(parts, context, person, invitation, places);
      if (inOrg !== undefined) orgPlaces.set(inOrg.orgId, inOrg);
      if (workspaceId !== undefined) {
        const guest = inOrg?.role === 'guest';
        if (inOrg !== undefined) await holdPlaces(parts, context, inOrg);
        workspacePlaces.set(workspaceId, acceptWorkspaceMembership(parts, context, person, guest, places));
      }
      work.remove(parts.invitations.records, invitation);
      return true;
    },
  };
}

/**
 * Returns whether an invitation is addressed to this person. One that names them by id matches whatever their
 * address is.
 */
function isAddressed({ anyAccount, userId, emailFold }: Invitation, person: Person): boolean {
  return anyAccount === true || userId === person.userId || foldEmail(emailFold) === foldEmail(person.email);
}

/**
 * Returns whether accepting may use this Org membership. An invitation into a workspace brings a guest's membership
 * only; it never passes on an offer that the Org itself made.
 */
function mayAccept({ status, role }: OrgMember, workspaceId: string | undefined): boolean {
  return status === 'invited' && (workspaceId === undefined || role === 'guest');
}

async function hasTarget(parts: Parts, { orgId, workspaceId }: Invitation): Promise<boolean> {
  if (orgId !== undefined && (await parts.orgs.records.get(orgId))?.status !== 'active') return false;
  return workspaceId === undefined || (await parts.workspaces.records.get(workspaceId)) !== undefined;
}

/**
 * Returns whether an invitation still offers a membership. It offers none to people whom the Org has suspended, so that
 * no invitation circumvents the suspension, and none after it was withdrawn.
 */
function offersMembership({ workspaceId }: Invitation, places: Places): boolean {
  const { orgExisting, orgOffered, existing, offered } = places;
  if (orgExisting?.status === 'suspended' || existing?.status === 'suspended') return false;
  return workspaceId === undefined
    ? orgExisting !== undefined || orgOffered !== undefined
    : existing !== undefined || offered !== undefined;
}

/**
 * Returns the person's membership of the Org after acceptance: their existing one, the one offered, or a new
 * guest's.
 */
async function acceptOrgMembership(
  parts: Parts,
  context: CallContext,
  person: Person,
  invitation: Invitation,
  { orgExisting, orgOffered }: Places,
): Promise<OrgMember> {
  const { orgId = '', tenant } = invitation;
  const taken = orgExisting ?? orgOffered;
  if (taken === undefined) {
    await parts.quotas.orgMembers.reserve(context.work, orgId);
    const guest = { id: newId(), tenant, orgId, role: 'guest', ...joinedAs(parts, person, orgId) } as const;
    const member = context.work.insert(parts.orgMembers.records, guest);
    publishOrgMember(publishingAs(person, context), 'added', member, { joined: true });
    return member;
  }
  const other = orgOffered?.id === taken.id ? undefined : orgOffered;
  if (other !== undefined && !(await isNeeded(parts, other, invitation))) endOrgMembership(parts, context, other);
  const role = other === undefined ? taken.role : greaterOrgRole(taken.role, other.role);
  if (taken.status === 'active' && taken.role === role) return taken;
  const { addressKey: _, viaWorkspace: __, ...rest } = taken;
  const joined = taken.status === 'active' ? changedBy(parts, person) : joinedAs(parts, person, orgId);
  const member = context.work.replace(parts.orgMembers.records, taken, { ...rest, ...joined, role });
  await syncWorkspaceMemberships(parts, context, member);
  publishOrgMember(publishingAs(person, context), 'updated', member, { joined: taken.status !== 'active' });
  return member;
}

/** Returns whether another open invitation still leads to a membership that this person does not use. */
async function isNeeded({ invitations }: Parts, offered: OrgMember, invitation: Invitation): Promise<boolean> {
  if (invitation.workspaceId === undefined) return false;
  const open = await invitations.ofOrgMember(offered.id);
  return open.some(({ id }) => id !== invitation.id);
}

function joinedAs(parts: Parts, person: Person, placeId: string) {
  const { userId, name, email } = person;
  return {
    userId,
    personKey: personKeyOf(placeId, userId),
    name,
    email,
    search: searchText(name, email),
    status: 'active' as const,
    joinedAt: parts.now(),
    ...changedBy(parts, person),
  };
}

/** Returns who accepts an invitation, and when: in the record, that person has made the change. */
function changedBy({ now }: Parts, { userId: id, name }: Person) {
  return { updatedBy: { type: 'user', id, name }, updatedAt: now() } as const;
}

function acceptWorkspaceMembership(
  parts: Parts,
  context: CallContext,
  person: Person,
  guest: boolean,
  { existing, offered }: Places,
): WorkspaceMember {
  const { records } = parts.workspaceMembers;
  if (existing !== undefined) {
    if (offered !== undefined) context.work.remove(records, offered);
    return existing;
  }
  const { addressKey: _, ...rest } = offered as WorkspaceMember;
  const { joinedAt: addedAt, ...joined } = joinedAs(parts, person, rest.workspaceId);
  const member = context.work.replace(records, offered as WorkspaceMember, { ...rest, ...joined, guest, addedAt });
  publishWorkspaceMember(publishingAs(person, context), 'added', member);
  return member;
}
