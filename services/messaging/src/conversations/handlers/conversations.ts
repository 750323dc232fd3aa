import { InsufficientRole, invalidField, NotFound } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import {
  type AddConversationMembersRequest,
  ConversationInclude,
  type ConversationService,
  DeletedFor,
  type MarkConversationReadResponse,
} from '@commonplace/proto/messaging/v1/conversation_service.js';
import { ConversationArchived, DirectConversation } from '../../errors.js';
import { changeConversation, requireMayChange } from '../change.js';
import { countOnce, countSteadily, unreadCounts } from '../counts.js';
import { createConversation } from '../create.js';
import { conversationEvent } from '../events.js';
import { deleteForEveryone, leaveConversation } from '../leave.js';
import { listConversations } from '../list.js';
import { markRead } from '../mark-read.js';
import { addMembers, type Newcomer, requireKnown } from '../members.js';
import type { ConversationParts } from '../parts.js';
import {
  type ConversationAccess,
  hasRole,
  openConversation,
  requireUnarchivedWorkspace,
  seeConversation,
} from '../policy.js';
import { presentChanged, presentMembers, presentStored } from '../present.js';
import { type HeadRecord, type MemberRecord, memberId } from '../records.js';
import { changeSettings, changesShared } from '../settings.js';
import { lastReadId, roleOf, settingsMessage } from '../wire.js';

export function createConversationHandlers(parts: ConversationParts): Handlers<ConversationService> {
  return {
    listConversations: (request, context) => listConversations(parts, request, context),

    async createConversation(request, context) {
      const created = await createConversation(parts, request, context);
      if (created.existed) context.reply.status = 200;
      return presentChanged(parts, created, context);
    },

    async getConversation({ conversationId, include }, context) {
      const access = await seeConversation(parts, conversationId, context);
      return presentStored(parts, access, include.includes(ConversationInclude.MEMBERS), context);
    },

    async updateConversation(request, context) {
      const access = await openConversation(parts, request.conversationId, 'manager', context);
      requireVersion(context, access.conversation.version, access.conversation);
      requireUnarchivedWorkspace(access);
      const conversation = await changeConversation(parts, request, access, context);
      const head = (await context.work.get(parts.heads, conversation.id)) ?? access.head;
      const member = await context.work.get(parts.members, access.member.id);
      return presentChanged(parts, { conversation, head, member }, context);
    },

    async deleteConversation({ conversationId, for: wanted }, context) {
      const isForAll = wanted === DeletedFor.EVERYONE;
      const access = await openConversation(parts, conversationId, isForAll ? 'owner' : 'member', context);
      requireVersion(context, access.conversation.version, access.conversation);
      if (isForAll) requireUnarchivedWorkspace(access);
      if (isForAll) await deleteForEveryone(parts, access, context);
      else await leaveConversation(parts, access, context);
      return { id: conversationId, deleted: true, for: isForAll ? DeletedFor.EVERYONE : DeletedFor.ME };
    },

    async addConversationMembers(request, context) {
      const access = await seeConversation(parts, request.conversationId, context);
      const newcomers = newcomersIn(request);
      requireMayAdd(access, newcomers, context);
      if (access.conversation.type === 'direct') throw DirectConversation();
      requireUnarchivedWorkspace(access);
      if (access.conversation.isArchived) throw ConversationArchived();
      const added = await addAll(parts, access, newcomers, request.shareHistory ?? true, context);
      if (added === 0) context.reply.status = 200;
      const members = await Promise.all(
        newcomers.map(({ id }) => context.work.get(parts.members, memberId(request.conversationId, id))),
      );
      const found = members.filter((member): member is MemberRecord => member !== undefined);
      return { items: await presentMembers(parts, found, context) };
    },

    async updateConversationSettings(request, context) {
      const least = changesShared(request) ? 'manager' : 'member';
      const access = await openConversation(parts, request.conversationId, least, context);
      requireVersion(context, access.conversation.version, access.conversation);
      if (least === 'manager') requireUnarchivedWorkspace(access);
      const { conversation, member } = await changeSettings(parts, request, access, context);
      return settingsMessage(conversation, member, parts.now());
    },

    async markConversationRead(request, context) {
      const access = await openConversation(parts, request.conversationId, 'member', context);
      const member = await markRead(parts, request, access, context);
      // Counting after the commit keeps messages that are sent at the same time from making the call run again.
      context.answerAfterCommit(() => readAnswer(parts, member));
      return { ...(await countOnce(parts, access.head, member, unreadCounts)), ...markerOf(access.head, member) };
    },
  };
}

const markerOf = (head: HeadRecord, member: MemberRecord) => ({
  lastReadSeq: member.lastReadSeq,
  lastReadMessageId: lastReadId(head, member),
});

/** Returns a member's marker and counts in a consistent state. */
async function readAnswer(parts: ConversationParts, member: MemberRecord): Promise<MarkConversationReadResponse> {
  const counts = await countSteadily(parts, [member], unreadCounts, createBreathe());
  const steady = counts.get(member.conversationId);
  if (steady === undefined) throw NotFound();
  return { ...steady.counted, ...markerOf(steady.head, steady.member) };
}

/** Returns the people or the agent that a request names, without duplicates. */
function newcomersIn({ userId, agentId, userIds, role }: AddConversationMembersRequest): Newcomer[] {
  const wanted = roleOf(role) ?? 'member';
  const given = Number(userId !== undefined) + Number(agentId !== undefined) + Number(userIds.length > 0);
  if (given === 0) throw invalidField('user_ids', 'missing_target', 'is required, or user_id or agent_id.');
  if (given > 1) throw invalidField('user_ids', 'ambiguous_target', 'excludes user_id and agent_id.');
  if (agentId !== undefined) {
    if (wanted !== 'member') throw invalidField('role', 'invalid_value', 'of an agent must be member.');
    return [{ kind: 'agent', id: agentId, role: wanted, param: 'agent_id' }];
  }
  if (userId !== undefined) return [{ kind: 'user', id: userId, role: wanted, param: 'user_id' }];
  return [...new Set(userIds)].map((id, at) => ({ kind: 'user', id, role: wanted, param: `user_ids[${at}]` }));
}

/** Throws unless the caller is a manager, or adds only themselves and is a member or may join the channel. */
function requireMayAdd(
  { conversation, member }: ConversationAccess,
  newcomers: readonly Newcomer[],
  { caller }: CallContext,
): void {
  const isSelf = newcomers.every(({ kind, id }) => kind === 'user' && id === caller.userId);
  if (isSelf && member !== undefined) return;
  if (isSelf && conversation.type === 'channel' && newcomers.every(({ role }) => role === 'member')) return;
  if (conversation.type === 'direct' && member !== undefined) return;
  if (member === undefined || !hasRole(member, 'manager')) throw InsufficientRole();
  for (const { role } of newcomers) requireMayChange(member, role);
}

/** Adds the newcomers who are not yet members. Returns the number of added members. */
async function addAll(
  parts: ConversationParts,
  { conversation }: ConversationAccess,
  newcomers: readonly Newcomer[],
  sharesHistory: boolean,
  context: CallContext,
): Promise<number> {
  const known = await requireKnown(parts, newcomers, conversation, context);
  const { conversation: fuller, changed } = await addMembers(parts, context.work, conversation, known, sharesHistory);
  if (changed.length === 0) return 0;
  const updated = { updatedAt: new Date(parts.now()).toISOString(), updatedBy: context.actor };
  const after = context.work.replace(parts.conversations, conversation, { ...fuller, ...updated });
  const userIds = changed.filter(({ kind }) => kind === 'user').map(({ principalId }) => principalId);
  context.work.publish(conversationEvent(context.event.bind(context), after, ['members'], userIds));
  return changed.length;
}
