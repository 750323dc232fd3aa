import { authorOf, credentialOutOfScope, reachesPlace, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, invalidField, NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import {
  callerMemberships,
  isOrgRoleAtLeast,
  isWorkspaceRoleAtLeast,
  openWorkspace,
  type PersonMemberships,
  refusalOfWorkspace,
} from '@commonplace/platform/memberships';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { ConversationArchived } from '../errors.js';
import type { ConversationParts } from './parts.js';
import {
  type ConversationRecord,
  type ConversationType,
  type HeadRecord,
  type MemberRecord,
  memberId,
  type Place,
  ROLE_RANKS,
  type Role,
} from './records.js';

type PolicyParts = Pick<ConversationParts, 'memberships' | 'directory' | 'conversations' | 'heads' | 'members'>;

/** The fields of a request that name the place of a conversation. */
interface PlaceNames {
  readonly workspaceId?: string | undefined;
  readonly orgId?: string | undefined;
}

/** Returns whether a role sees the content of a workspace. Guests see only what was shared with them. */
const isReader = (role: WorkspaceRole | undefined): boolean => isWorkspaceRoleAtLeast(role, WorkspaceRole.VIEWER);
const isOrgMember = (role: OrgRole | undefined): boolean => isOrgRoleAtLeast(role, OrgRole.MEMBER);

/** The place of a new conversation, and the place that its members have to belong to. */
interface ChosenPlace {
  readonly place: Place;
  readonly people: Place;
}

/**
 * Returns the place of a new conversation, which is a workspace or an Org that the caller belongs to. A direct
 * conversation within an Org belongs to the whole Org; if the caller is a guest of the Org, the other person must
 * belong to the chosen workspace.
 */
export async function choosePlace(
  parts: PolicyParts,
  names: PlaceNames,
  type: ConversationType,
  context: CallContext,
): Promise<ChosenPlace> {
  const { caller } = context;
  if (names.orgId !== undefined && names.workspaceId !== undefined) {
    throw invalidField('org_id', 'ambiguous_target', 'does not go with workspace_id.');
  }
  if (names.orgId !== undefined) return chooseOrg(parts, names.orgId, context);
  const { person, workspace } = await openWorkspace(caller, names.workspaceId, (id) => enter(parts, id, context));
  const { workspaceId, orgId } = workspace;
  if (!reachesWorkspace(caller, workspaceId, orgId || null)) throw credentialOutOfScope(caller, orgId || null);
  if (!isReader(workspace.role)) throw InsufficientRole();
  if (workspace.archived) throw WorkspaceArchived();
  const place = { tenant: orgId || workspaceId, orgId, workspaceId };
  if (type !== 'direct' || orgId === '') return { place, people: place };
  if (isOrgMember(person.orgs.get(orgId)?.role)) return chooseOrg(parts, orgId, context);
  if (!reachesPlace(caller, { orgId })) throw credentialOutOfScope(caller, orgId);
  return { place: { tenant: orgId, orgId }, people: place };
}

/** Returns the caller's membership of a workspace, and all others. Throws the refusal for one that they are not in. */
async function enter(parts: PolicyParts, workspaceId: string, context: CallContext) {
  const person = await callerMemberships(
    parts.memberships,
    context,
    ({ workspaces }) => workspaces.get(workspaceId)?.archived === false,
  );
  const workspace = person.workspaces.get(workspaceId);
  if (workspace === undefined) {
    throw await refusalOfWorkspace(parts.directory, workspaceId, person, context, 'workspace_id');
  }
  return { person, workspace };
}

async function chooseOrg(parts: PolicyParts, orgId: string, context: CallContext): Promise<ChosenPlace> {
  const { caller } = context;
  const { orgs } = await callerMemberships(parts.memberships, context, (person) => person.orgs.has(orgId));
  const org = orgs.get(orgId);
  if (org === undefined) throw NotFound({}, { param: 'org_id' });
  if (!reachesPlace(caller, { orgId })) throw credentialOutOfScope(caller, orgId);
  if (!isOrgMember(org.role)) throw InsufficientRole();
  const place = { tenant: orgId, orgId };
  return { place, people: place };
}

/** Returns whether a person belongs to the workspace or Org of a conversation. */
export function belongsTo(
  { workspaces, orgs }: PersonMemberships,
  { workspaceId, orgId }: Pick<Place, 'workspaceId' | 'orgId'>,
): boolean {
  return workspaceId === undefined ? orgs.has(orgId) : workspaces.has(workspaceId);
}

/** Returns whether a person may join the channels of a workspace or Org without being added by a manager. */
export function mayJoinChannels(
  { workspaces, orgs }: PersonMemberships,
  { workspaceId, orgId }: Pick<Place, 'workspaceId' | 'orgId'>,
): boolean {
  return workspaceId === undefined ? isOrgMember(orgs.get(orgId)?.role) : isReader(workspaces.get(workspaceId)?.role);
}

/** Returns whether a person sees a conversation: as an active member of it, or as a channel that they may join. */
export function seesConversation(
  person: PersonMemberships,
  conversation: Pick<ConversationRecord, 'type' | 'workspaceId' | 'orgId'>,
  isMember: boolean,
): boolean {
  const isJoinable = conversation.type === 'channel' && mayJoinChannels(person, conversation);
  return belongsTo(person, conversation) && (isMember || isJoinable);
}

/** A conversation from the caller's point of view. */
export interface ConversationAccess {
  readonly conversation: ConversationRecord;
  readonly head: HeadRecord;
  /** The caller's membership; undefined for a channel that they may join. */
  readonly member: MemberRecord | undefined;
  /** Whether the workspace is archived. */
  readonly isWorkspaceArchived: boolean;
}

export interface MemberAccess extends ConversationAccess {
  readonly member: MemberRecord;
}

export type Asking = Pick<CallContext, 'caller' | 'onward' | 'work'>;

/**
 * Returns a conversation of the caller, or a channel that they may join; the author who limits the call must see it
 * too. Throws `NotFound` for all others, and `TenantBoundary` if the person sees it and the credential does not reach
 * it.
 */
export async function seeConversation(
  parts: PolicyParts,
  id: string,
  { caller, onward, work }: Asking,
): Promise<ConversationAccess> {
  const author = authorOf(caller);
  if (author !== undefined) await seeAs(parts, id, { caller: author, onward, work });
  return seeAs(parts, id, { caller, onward, work });
}

async function seeAs(parts: PolicyParts, id: string, context: Asking): Promise<ConversationAccess> {
  const { caller, work } = context;
  const [conversation, head, known] = await Promise.all([
    work.get(parts.conversations, id),
    work.get(parts.heads, id),
    work.get(parts.members, memberId(id, caller.userId)),
  ]);
  const member = known?.isActive ? known : undefined;
  const sees = (person: PersonMemberships) =>
    conversation !== undefined && seesConversation(person, conversation, member !== undefined);
  const person = await callerMemberships(parts.memberships, context, sees);
  if (conversation === undefined || head === undefined || !sees(person)) throw NotFound();
  if (!reachesPlace(caller, conversation)) throw credentialOutOfScope(caller, conversation.orgId || null);
  const { workspaceId } = conversation;
  const isWorkspaceArchived = workspaceId !== undefined && person.workspaces.get(workspaceId)?.archived === true;
  return { conversation, head, member, isWorkspaceArchived };
}

/**
 * Returns a conversation in which the caller, and the author who limits the call, have at least the role `least`; the
 * member has what both have in common. Throws `InsufficientRole` for a lower role.
 */
export async function openConversation(
  parts: PolicyParts,
  id: string,
  least: Role,
  { caller, onward, work }: Asking,
): Promise<MemberAccess> {
  const author = authorOf(caller);
  if (author === undefined) return openAs(parts, id, least, { caller, onward, work });
  const { member: other } = await openAs(parts, id, least, { caller: author, onward, work });
  const access = await openAs(parts, id, least, { caller, onward, work });
  return { ...access, member: commonMember(access.member, other) };
}

/** Returns a member with the lesser of two members' roles, who sees only the messages that both see. */
function commonMember(member: MemberRecord, other: MemberRecord): MemberRecord {
  const role = ROLE_RANKS[other.role] > ROLE_RANKS[member.role] ? other.role : member.role;
  return { ...member, role, visibleFromSeq: Math.max(member.visibleFromSeq, other.visibleFromSeq) };
}

async function openAs(parts: PolicyParts, id: string, least: Role, context: Asking): Promise<MemberAccess> {
  const access = await seeAs(parts, id, context);
  const { member } = access;
  if (member === undefined || !hasRole(member, least)) throw InsufficientRole();
  return { ...access, member };
}

export function hasRole({ role }: Pick<MemberRecord, 'role'>, least: Role): boolean {
  return ROLE_RANKS[role] <= ROLE_RANKS[least];
}

/** Throws `WorkspaceArchived` or `ConversationArchived` if messages and members of a conversation cannot change. */
export function requireOpen({ conversation, isWorkspaceArchived }: ConversationAccess): void {
  requireUnarchivedWorkspace({ isWorkspaceArchived });
  if (conversation.isArchived) throw ConversationArchived();
}

/** Throws `WorkspaceArchived` if the workspace of a conversation is archived. */
export function requireUnarchivedWorkspace({
  isWorkspaceArchived,
}: Pick<ConversationAccess, 'isWorkspaceArchived'>): void {
  if (isWorkspaceArchived) throw WorkspaceArchived();
}
