import { InsufficientRole, invalidField, NotFound } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import type {
  ConversationAccessService,
  MemberPair,
  MemberStanding,
} from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import { accessibleConversations } from '../accessible.js';
import { writeAgentMessage } from '../agent-message.js';
import { countSteadily, unreadCounts } from '../counts.js';
import { reachConversations, sumUnread } from '../list.js';
import { namesOf } from '../names.js';
import type { ConversationParts } from '../parts.js';
import { belongsTo, hasRole, openConversation } from '../policy.js';
import { memberId } from '../records.js';

const CHUNK = 50;
/** Maximum number of ids of one CheckAccess. */
const MAX_IDS = 1_000;
/** Maximum number of readers that GetAudience names. */
const SHOWN_READERS = 50;

export function createAccessHandlers(parts: ConversationParts): Handlers<ConversationAccessService> {
  return {
    async checkMembers({ pairs }) {
      const standings: MemberStanding[] = [];
      for (let at = 0; at < pairs.length; at += CHUNK) {
        standings.push(...(await Promise.all(pairs.slice(at, at + CHUNK).map((pair) => membershipOf(parts, pair)))));
      }
      return { standings };
    },

    async checkAccess({ conversationIds }, context) {
      if (conversationIds.length > MAX_IDS) {
        const message = `conversation_ids may have at most ${MAX_IDS} ids.`;
        throw invalidField('conversation_ids', 'invalid_value', message);
      }
      return { conversations: await accessibleConversations(parts, conversationIds, context) };
    },

    async getAudience({ conversationId, userId }, context) {
      const conversation = await parts.conversations.get(conversationId);
      if (conversation === undefined) throw NotFound();
      const where = { conversationId, isActive: true };
      // The result leaves out the caller and the agents, although the query reads them.
      const members = await parts.members.find({ where, sort: ['rank'], limit: SHOWN_READERS + 1 });
      const unread = (await parts.members.count(where)) - members.length;
      const others = members.filter(({ kind, principalId }) => kind === 'user' && principalId !== userId);
      const shown = others.slice(0, SHOWN_READERS);
      const ids = shown.map(({ principalId }) => principalId);
      const names = await namesOf(parts, ids, context);
      return {
        name: conversation.name ?? '',
        isOpen: conversation.type !== 'group',
        others: ids.map((id) => ({ id, name: names.get(id) ?? '' })),
        unnamedCount: others.length - shown.length + unread,
      };
    },

    async getCounts({ conversationId }, context) {
      const { member } = await openConversation(parts, conversationId, 'member', context);
      const reached = await reachConversations(parts, context);
      const steady = (await countSteadily(parts, [member], unreadCounts, createBreathe())).get(conversationId);
      if (steady === undefined) throw NotFound();
      const totalUnread = sumUnread(reached, [{ ...steady, ...steady.counted }], parts.now());
      return { lastReadSeq: steady.member.lastReadSeq, ...steady.counted, totalUnread };
    },

    async postAgentMessage(request, { work, requestId }) {
      if (request.userId !== undefined) await requireSpeaker(parts, request.conversationId, request.userId, work);
      const written = await writeAgentMessage(parts, work, request, requestId);
      if (written === undefined) throw NotFound();
      const { sent, before } = written;
      return {
        messageId: sent?.id ?? before?.messageId ?? '',
        seq: sent?.seq ?? before?.seq ?? 0,
        created: sent !== undefined,
      };
    },
  };
}

/** Throws unless a person is a member of a conversation who may post there now. */
async function requireSpeaker(
  parts: ConversationParts,
  conversationId: string,
  userId: string,
  work: UnitOfWork,
): Promise<void> {
  const [conversation, member] = await Promise.all([
    work.get(parts.conversations, conversationId),
    work.get(parts.members, memberId(conversationId, userId)),
  ]);
  if (conversation === undefined || !member?.isActive) throw NotFound();
  // Makes the commit fail if the membership ends at the same time.
  work.expect(parts.members, member);
  const person = await parts.memberships.fresh(userId, parts.systemCall());
  if (!belongsTo(person, conversation)) throw NotFound();
  const { workspaceId = '', isArchived, whoCanPost } = conversation;
  const isReadOnly = isArchived || person.workspaces.get(workspaceId)?.archived === true;
  if (isReadOnly || (whoCanPost !== 'all' && !hasRole(member, 'manager'))) throw InsufficientRole();
}

/** Returns whether a person is an active member of a conversation and still belongs to its workspace or Org. */
async function membershipOf(parts: ConversationParts, pair: MemberPair): Promise<MemberStanding> {
  const { userId, conversationId } = pair;
  const member = await parts.members.get(memberId(conversationId, userId));
  const exists = member?.isActive === true && (await parts.heads.get(conversationId)) !== undefined;
  if (member === undefined || !exists) {
    return { userId, conversationId, isActive: false, visibleFromSeq: 0, workspaceId: '', orgId: '' };
  }
  const { visibleFromSeq, workspaceId = '', orgId } = member;
  const options = parts.systemCall();
  const isActive =
    belongsTo(await parts.memberships.of(userId, options), member) ||
    belongsTo(await parts.memberships.fresh(userId, options), member);
  return { userId, conversationId, isActive, visibleFromSeq, workspaceId, orgId };
}
