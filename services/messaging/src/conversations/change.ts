import { InsufficientRole, invalidField, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import type { UpdateConversationRequest } from '@commonplace/proto/messaging/v1/conversation_service.js';
import { ConversationArchived, DirectConversation } from '../errors.js';
import { conversationEvent } from './events.js';
import { addMembers, type Newcomer, ownersOf, removeMembers, requireKnown, requireOwner, withRole } from './members.js';
import type { ConversationParts } from './parts.js';
import { hasRole, type MemberAccess } from './policy.js';
import { type ConversationRecord, type MemberRecord, memberId, type Role } from './records.js';
import { roleOf } from './wire.js';

/**
 * Changes the fields and the members of a conversation in the unit of work of a call. Returns the record as it is
 * written.
 */
export async function changeConversation(
  parts: ConversationParts,
  request: UpdateConversationRequest,
  access: MemberAccess,
  context: CallContext,
): Promise<ConversationRecord> {
  const mask = new Set(request.updateMask ?? []);
  const before = access.conversation;
  const fields = ['name', 'topic', 'icon', 'is_archived'].filter((field) => mask.has(field));
  const facts = withFacts(before, request, mask);
  const { conversation, userIds } = await changeMembers(parts, request, { ...access, conversation: facts }, context);
  await setArchived(parts, conversation, access, context);
  const updatedAt = new Date(parts.now()).toISOString();
  const written = { ...conversation, updatedAt, updatedBy: context.actor };
  // A change of members always writes the conversation, so that concurrent ones race and cannot leave it without owner.
  const after =
    userIds.length === 0
      ? replaceChanged(context.work, parts.conversations, before, written)
      : context.work.replace(parts.conversations, before, written);
  if (after === before) return before;
  const changed = userIds.length === 0 ? fields : [...fields, 'members'];
  context.work.publish(conversationEvent(context.event.bind(context), after, changed, userIds));
  return after;
}

function withFacts(
  before: ConversationRecord,
  { name, topic, icon, isArchived }: UpdateConversationRequest,
  mask: ReadonlySet<string>,
): ConversationRecord {
  return {
    ...before,
    ...(mask.has('name') && name !== undefined && { name }),
    ...(mask.has('topic') && { topic }),
    ...(mask.has('icon') && { icon }),
    ...(mask.has('is_archived') && isArchived !== undefined && { isArchived }),
  };
}

/** Copies `isArchived` to the head of the conversation, where the total of unread messages reads it. */
async function setArchived(
  { heads }: ConversationParts,
  { isArchived }: ConversationRecord,
  { head }: MemberAccess,
  { work }: CallContext,
): Promise<void> {
  if (head.isArchived !== isArchived) work.replace(heads, head, { ...head, isArchived });
}

/** The conversation with its new number of members, and the ids of the people whose membership changed. */
interface Changed {
  readonly conversation: ConversationRecord;
  readonly userIds: readonly string[];
}

async function changeMembers(
  parts: ConversationParts,
  { addMemberIds, removeMemberIds, memberRoles }: UpdateConversationRequest,
  access: MemberAccess,
  context: CallContext,
): Promise<Changed> {
  const { conversation, member: mine } = access;
  if (addMemberIds.length + removeMemberIds.length + memberRoles.length === 0) return { conversation, userIds: [] };
  requireOneChangeEach(addMemberIds, removeMemberIds, memberRoles);
  // An earlier version let its creator make the other person the owner of a direct conversation.
  if (conversation.type === 'direct') throw DirectConversation();
  if (conversation.isArchived && addMemberIds.length > 0) throw ConversationArchived();
  const newcomers = addMemberIds.map(
    (id, at): Newcomer => ({ kind: 'user', id, role: 'member', param: `add_member_ids[${at}]` }),
  );
  const known = await requireKnown(parts, newcomers, conversation, context);
  const leaving = await activeMembers(parts, conversation.id, removeMemberIds, 'remove_member_ids', context);
  const assigned = await activeMembers(
    parts,
    conversation.id,
    memberRoles.map(({ userId }) => userId),
    'member_roles',
    context,
  );
  for (const one of leaving) requireMayChange(mine, one.role);
  const roles = assigned.map((one, at): Role => {
    const role = roleOf(memberRoles[at]?.role as never) ?? 'member';
    requireMayChange(mine, one.role);
    requireMayChange(mine, role);
    if (one.kind === 'agent' && role !== 'member') {
      throw invalidField(`member_roles[${at}].role`, 'invalid_value', 'of an agent must be member.');
    }
    return role;
  });
  const { conversation: fuller, changed: added } = await addMembers(parts, context.work, conversation, known, true);
  const { conversation: after, changed: removed } = removeMembers(parts, context.work, fuller, leaving);
  const reassigned = assigned.flatMap((one, at) => {
    const role = roles[at] as Role;
    return one.role === role ? [] : [context.work.replace(parts.members, one, withRole(one, role))];
  });
  await requireOwnerAfter(parts, conversation.id, leaving, assigned, roles, after.memberCount);
  const userIds = [...added, ...removed, ...reassigned].filter(({ kind }) => kind === 'user');
  return { conversation: after, userIds: [...new Set(userIds.map(({ principalId }) => principalId))] };
}

function requireOneChangeEach(
  added: readonly string[],
  removed: readonly string[],
  roles: readonly { readonly userId: string }[],
): void {
  const seen = new Set<string>();
  for (const [param, ids] of [
    ['add_member_ids', added],
    ['remove_member_ids', removed],
    ['member_roles', roles.map(({ userId }) => userId)],
  ] as const) {
    for (const [at, id] of ids.entries()) {
      if (seen.has(id)) throw invalidField(`${param}[${at}]`, 'invalid_value', 'names a person twice.');
      seen.add(id);
    }
  }
}

/** Throws unless a member may give or take a role: only owners give and take the role of an owner. */
export function requireMayChange(mine: Pick<MemberRecord, 'role'>, role: Role): void {
  if (!hasRole(mine, role)) throw InsufficientRole({}, { message: 'Only owners give and take the role of an owner.' });
}

async function activeMembers(
  { members }: ConversationParts,
  conversationId: string,
  ids: readonly string[],
  param: string,
  { work }: CallContext,
): Promise<MemberRecord[]> {
  return Promise.all(
    ids.map(async (id, at) => {
      const found = await work.get(members, memberId(conversationId, id));
      if (!found?.isActive) throw NotFound({}, { param: `${param}[${at}]` });
      return found;
    }),
  );
}

async function requireOwnerAfter(
  parts: ConversationParts,
  conversationId: string,
  leaving: readonly MemberRecord[],
  assigned: readonly MemberRecord[],
  roles: readonly Role[],
  memberCount: number,
): Promise<void> {
  if (memberCount === 0) return;
  const gone = new Set([...leaving, ...assigned].map(({ principalId }) => principalId));
  const kept = (await ownersOf(parts, conversationId)).filter(({ principalId }) => !gone.has(principalId));
  requireOwner([...kept, ...roles.map((role) => ({ role })), { role: 'member' }]);
}
