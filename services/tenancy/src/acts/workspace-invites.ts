import type { Caller } from '@commonplace/kit/auth';
import { AppError, InsufficientRole, NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { AddWorkspaceMemberRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { fullOrgSettings } from '../domain/org-settings.js';
import type { Person } from '../domain/person.js';
import { orgRoleAtLeast, type WorkspaceRole, workspaceRoleAtLeast, workspaceRoleOf } from '../domain/roles.js';
import { searchText } from '../domain/text.js';
import { AlreadyMember, ExternalSharingDisabled } from '../errors.js';
import type { Parts } from '../parts.js';
import {
  requireActiveWorkspace,
  requireOwnerForOwner,
  requireWorkspaceGrant,
  type WorkspaceAccess,
} from '../policy.js';
import { addressKeyOf, type OrgMember } from '../stores/org-members.js';
import type { Org } from '../stores/orgs.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';
import { changedNow } from './changed-now.js';
import { issueInvitation, revokeInvitations } from './invitations.js';
import { joinWorkspace } from './join.js';
import { offerOrgMembership, requireAddressed, requireAllowedDomain } from './org-invites.js';
import { holdOrgMember } from './owners.js';
import { noSuchPerson, personByEmail, personById, requireOneOf } from './people.js';

/** A membership of a workspace; with a link if the person is only invited. */
interface Added {
  readonly member: WorkspaceMember;
  readonly url?: string;
  readonly sentAgain?: boolean;
}

/**
 * Returns the role that limits which roles the caller may grant: their own in the workspace. An administrator of
 * the Org who adds themselves acts as an administrator of the workspace. Throws InsufficientRole.
 */
function grantorOf({ role, place, inOrg }: WorkspaceAccess, userId: string | undefined, caller: Caller): WorkspaceRole {
  if (role !== undefined && workspaceRoleAtLeast(role, 'admin')) return role;
  const joins = userId === caller.userId && place === undefined && orgRoleAtLeast(inOrg?.member.role, 'admin');
  if (!joins) throw InsufficientRole({ role: role ?? null, needed: 'admin' });
  return 'admin';
}

/** Adds a known person at once; invites the address otherwise. */
export async function addMember(
  parts: Parts,
  context: CallContext,
  access: WorkspaceAccess,
  request: AddWorkspaceMemberRequest,
): Promise<Added> {
  const own = grantorOf(access, request.userId, context.caller);
  const role = workspaceRoleOf(request.role);
  requireWorkspaceGrant(own, role ?? 'viewer');
  const { userId, email, agentId } = request;
  const named = requireOneOf({ user_id: userId, email, agent_id: agentId });
  requireAddressed(named, request.anyAccount);
  if (named === 'agent_id') throw new AppError('NOT_FOUND', 'not_found', 'There is no such agent.', { param: named });
  const known =
    named === 'user_id'
      ? await knownById(parts, context, access, userId as string)
      : await knownByEmail(parts, context, access, email as string);
  if (known !== undefined) return addKnownPerson(parts, context, access, known, role ?? 'viewer');
  return invite(parts, context, access, request, { own, role });
}

/** A person who may join at once. */
interface Known {
  readonly person: Person;
  /** Whether they are a guest of the Org. */
  readonly guest: boolean;
  /** Their membership of the Org; absent for a Personal workspace. */
  readonly inOrg?: OrgMember;
}

/** Returns a member of the Org by id, or for a Personal workspace any registered person. Throws NotFound. */
async function knownById(
  parts: Parts,
  context: CallContext,
  { inOrg }: WorkspaceAccess,
  userId: string,
): Promise<Known> {
  if (inOrg === undefined) return { person: await personById(parts, context, userId), guest: false };
  const member = await parts.orgMembers.ofPerson(inOrg.org.id, userId);
  if (member?.status !== 'active') throw noSuchPerson();
  return knownMember(member, userId);
}

function knownMember(inOrg: OrgMember, userId: string): Known {
  const { name, email, role } = inOrg;
  return { person: { userId, name, email }, guest: role === 'guest', inOrg };
}

/** Returns the Org's member with that address; undefined if the address has to be invited. */
async function knownByEmail(
  parts: Parts,
  context: CallContext,
  { workspace, inOrg }: WorkspaceAccess,
  email: string,
): Promise<Known | undefined> {
  const person = await personByEmail(parts, context, email);
  if (person === undefined) return undefined;
  const existing = await parts.workspaceMembers.ofPerson(workspace.id, person.userId);
  if (existing !== undefined) throw AlreadyMember();
  if (inOrg === undefined) return undefined;
  const member = await parts.orgMembers.ofPerson(inOrg.org.id, person.userId);
  if (member?.status === 'suspended') throw NotFound({}, { param: 'email' });
  return member?.status === 'active' ? knownMember(member, person.userId) : undefined;
}

async function addKnownPerson(
  parts: Parts,
  context: CallContext,
  { workspace }: WorkspaceAccess,
  { person, guest, inOrg }: Known,
  role: WorkspaceRole,
): Promise<Added> {
  if ((await parts.workspaceMembers.ofPerson(workspace.id, person.userId)) !== undefined) throw AlreadyMember();
  requireActiveWorkspace(workspace);
  if (inOrg !== undefined) await holdOrgMember(parts, context, inOrg);
  const { caller, actor: adder } = context;
  const addedBy = caller.userId;
  // The address stays hidden from people who share no Org with them.
  const hidesEmail = workspace.orgId === undefined && person.userId !== addedBy;
  const joining = { workspace, person, guest, role, addedBy, adder, hidesEmail };
  return { member: await joinWorkspace(parts, context, joining) };
}

async function invite(
  parts: Parts,
  context: CallContext,
  { workspace, inOrg }: WorkspaceAccess,
  { email: given = '', message, anyAccount }: AddWorkspaceMemberRequest,
  { own, role }: { readonly own: WorkspaceRole; readonly role: WorkspaceRole | undefined },
): Promise<Added> {
  const email = given.trim();
  const existing = await parts.workspaceMembers.ofAddress(workspace.id, email);
  // The link of an invited owner makes its holder an owner, so that only an owner may renew it.
  if (existing !== undefined) requireOwnerForOwner(own, existing.role);
  const inOrgPlace = inOrg && (await offerGuestMembership(parts, context, inOrg.org, email));
  requireActiveWorkspace(workspace);
  if (existing !== undefined) {
    revokeInvitations(parts, context, await parts.invitations.ofWorkspaceMember(existing.id));
  }
  const member = offerWorkspaceMembership(parts, context, workspace, email, role, existing);
  const { tenant, orgId, workspaceId, id: workspaceMemberId } = member;
  const offer = {
    ...{ tenant, orgId, workspaceId, workspaceMemberId, orgMemberId: inOrgPlace?.id, email, message },
    ...(anyAccount && { anyAccount: true as const }),
  };
  const url = await issueInvitation(parts, context, offer, workspace.name);
  return { member, url, sentAgain: existing !== undefined };
}

/**
 * Returns the guest's Org membership that comes with an invitation to its workspace. Returns undefined if the Org
 * has invited the address with a higher role, which this invitation does not pass on.
 */
async function offerGuestMembership(
  parts: Parts,
  context: CallContext,
  org: Org,
  email: string,
): Promise<OrgMember | undefined> {
  const offered = await parts.orgMembers.ofAddress(org.id, email);
  if (offered !== undefined && offered.role !== 'guest') return undefined;
  if (!fullOrgSettings(org.settings).allowExternalSharing) throw ExternalSharingDisabled();
  requireAllowedDomain(org, email, 'email');
  if (offered !== undefined) return offered;
  return offerOrgMembership(parts, context, org, { email, name: '', userId: undefined, byName: false }, 'guest', true);
}

function offerWorkspaceMembership(
  parts: Parts,
  context: CallContext,
  { id: workspaceId, tenant, orgId }: WorkspaceAccess['workspace'],
  email: string,
  role: WorkspaceRole | undefined,
  existing: WorkspaceMember | undefined,
): WorkspaceMember {
  const { records } = parts.workspaceMembers;
  const stamps = changedNow(parts, context);
  const { userId: addedBy } = context.caller;
  const offered = { ...stamps, addedBy, adder: context.actor, addedAt: stamps.updatedAt };
  if (existing !== undefined) {
    return context.work.replace(records, existing, { ...existing, role: role ?? existing.role, ...offered });
  }
  return context.work.insert(records, {
    id: newId(),
    tenant,
    workspaceId,
    orgId,
    addressKey: addressKeyOf(workspaceId, email),
    name: '',
    email,
    search: searchText('', email),
    role: role ?? 'viewer',
    status: 'invited',
    guest: false,
    ...offered,
  });
}
