import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { greaterOrgRole } from '../domain/roles.js';
import { searchText } from '../domain/text.js';
import { publishingAs, publishOrgMember, publishWorkspaceMember } from '../events.js';
import type { Parts } from '../parts.js';
import type { Invitation } from '../stores/invitations.js';
import { type OrgMember, personKeyOf } from '../stores/org-members.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';
import { vacate } from './invitations.js';
import { followOrgPlace } from './org-place.js';
import type { Person } from './people.js';

/** Turns the invitations that a person accepts in one call into memberships. */
export interface Acceptance {
  /** False where an invitation offers this person nothing (any more); nothing is written then. */
  accept(invitation: Invitation): Promise<boolean>;
}

/** What an invitation leads to, as it is now. */
interface Places {
  readonly orgExisting: OrgMember | undefined;
  readonly orgOffered: OrgMember | undefined;
  readonly existing: WorkspaceMember | undefined;
  readonly offered: WorkspaceMember | undefined;
}

export function createAcceptance(parts: Parts, context: CallContext, person: Person): Acceptance {
  // Queries don't show what this unit has written: places taken a moment ago are remembered.
  const orgPlaces = new Map<string, OrgMember>();
  const workspacePlaces = new Map<string, WorkspaceMember>();
  const { work } = context;

  async function placesOf({ orgId, orgMemberId, workspaceId, workspaceMemberId }: Invitation): Promise<Places> {
    const orgOffered = orgMemberId && (await work.get(parts.orgMembers.records, orgMemberId));
    const offered = workspaceMemberId && (await work.get(parts.workspaceMembers.records, workspaceMemberId));
    return {
      orgExisting: orgId && (orgPlaces.get(orgId) ?? (await parts.orgMembers.ofPerson(orgId, person.userId))),
      orgOffered: orgOffered && mayTakeUp(orgOffered, workspaceId) ? orgOffered : undefined,
      existing:
        workspaceId &&
        (workspacePlaces.get(workspaceId) ?? (await parts.workspaceMembers.ofPerson(workspaceId, person.userId))),
      offered: offered && offered.status === 'invited' ? offered : undefined,
    } as Places;
  }

  return {
    async accept(invitation) {
      if (invitation.userId !== undefined && invitation.userId !== person.userId) return false;
      if (!(await leadsSomewhere(parts, invitation))) return false;
      const places = await placesOf(invitation);
      if (!offersPlace(invitation, places)) return false;
      const { orgId, workspaceId } = invitation;
      const inOrg = orgId === undefined ? undefined : await takeOrgPlace(parts, context, person, invitation, places);
      if (inOrg !== undefined) orgPlaces.set(inOrg.orgId, inOrg);
      if (workspaceId !== undefined) {
        const guest = inOrg?.role === 'guest';
        workspacePlaces.set(workspaceId, takeWorkspacePlace(parts, context, person, guest, places));
      }
      work.remove(parts.invitations.records, invitation);
      return true;
    },
  };
}

/** Who invites into a workspace lets guests into its Org, and hands on nothing that the Org has offered itself. */
function mayTakeUp({ status, role }: OrgMember, workspaceId: string | undefined): boolean {
  return status === 'invited' && (workspaceId === undefined || role === 'guest');
}

async function leadsSomewhere(parts: Parts, { orgId, workspaceId }: Invitation): Promise<boolean> {
  if (orgId !== undefined && (await parts.orgs.records.get(orgId))?.status !== 'active') return false;
  return workspaceId === undefined || (await parts.workspaces.records.get(workspaceId)) !== undefined;
}

/** Whom the Org suspends can't come back through a side door; an offer that was taken back is none. */
function offersPlace({ workspaceId }: Invitation, places: Places): boolean {
  const { orgExisting, orgOffered, existing, offered } = places;
  if (orgExisting?.status === 'suspended' || existing?.status === 'suspended') return false;
  return workspaceId === undefined
    ? orgExisting !== undefined || orgOffered !== undefined
    : existing !== undefined || offered !== undefined;
}

/** The person's place in the Org from now on: the one they have, the one offered, or a guest's. */
async function takeOrgPlace(
  parts: Parts,
  context: CallContext,
  person: Person,
  invitation: Invitation,
  { orgExisting, orgOffered }: Places,
): Promise<OrgMember> {
  const { orgId = '', tenant } = invitation;
  const taken = orgExisting ?? orgOffered;
  if (taken === undefined) {
    const guest = { id: newId(), tenant, orgId, role: 'guest', ...joinedAs(parts, person, orgId) } as const;
    const member = context.work.insert(parts.orgMembers.records, guest);
    publishOrgMember(publishingAs(person, context), 'added', member, { joined: true });
    return member;
  }
  const other = orgOffered?.id === taken.id ? undefined : orgOffered;
  if (other !== undefined && !(await isNeeded(parts, other, invitation))) vacate(parts, context, other);
  const role = other === undefined ? taken.role : greaterOrgRole(taken.role, other.role);
  if (taken.status === 'active' && taken.role === role) return taken;
  const { addressKey: _, viaWorkspace: __, ...rest } = taken;
  const joined = taken.status === 'active' ? { updatedAt: parts.now() } : joinedAs(parts, person, orgId);
  const member = context.work.replace(parts.orgMembers.records, taken, { ...rest, ...joined, role });
  await followOrgPlace(parts, context, member);
  publishOrgMember(publishingAs(person, context), 'updated', member, { joined: taken.status !== 'active' });
  return member;
}

/** Whether a place that this person does not take may still be taken by another invitation. */
async function isNeeded({ invitations }: Parts, offered: OrgMember, invitation: Invitation): Promise<boolean> {
  if (invitation.workspaceId === undefined) return false;
  const open = await invitations.ofOrgMember(offered.id);
  return open.some(({ id }) => id !== invitation.id);
}

function joinedAs(parts: Parts, { userId, name, email }: Person, placeId: string) {
  return {
    userId,
    personKey: personKeyOf(placeId, userId),
    name,
    email,
    search: searchText(name, email),
    status: 'active' as const,
    joinedAt: parts.now(),
    updatedAt: parts.now(),
  };
}

function takeWorkspacePlace(
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
