import type { CallContext } from '@commonplace/kit/rpc';
import { conversationEvent, readEvent } from './events.js';
import { otherPeople } from './leavers.js';
import { ownersOf, removeMembers, requireOwner } from './members.js';
import type { ConversationParts } from './parts.js';
import type { MemberStanding } from './policy.js';
import { deleteConversation } from './removal.js';

/**
 * Has the caller leave a group or channel, which is deleted with its last person, or hides a direct conversation until its
 * next message.
 */
export async function leaveConversation(
  parts: ConversationParts,
  { conversation, head, member }: MemberStanding,
  context: CallContext,
): Promise<void> {
  const { work } = context;
  const make = context.event.bind(context);
  if (conversation.type === 'direct') {
    work.expect(parts.heads, head);
    const hidden = work.replace(parts.members, member, {
      ...member,
      hiddenSeq: head.lastSeq,
      lastReadSeq: head.lastSeq,
      ...(head.lastMessageId !== undefined && { lastReadMessageId: head.lastMessageId }),
    });
    work.publish(readEvent(make, hidden));
    return;
  }
  if ((await otherPeople(parts, member)) === 0) {
    deleteConversation(parts, work, make, { conversation, head }, [member.principalId]);
    return;
  }
  const owners = await ownersOf(parts, conversation.id);
  requireOwner([...owners.filter(({ id }) => id !== member.id), { role: 'member' }]);
  const { conversation: after } = removeMembers(parts, work, conversation, [member]);
  const updatedAt = new Date(parts.now()).toISOString();
  const written = work.replace(parts.conversations, conversation, { ...after, updatedAt });
  work.publish(conversationEvent(make, written, ['members'], [member.principalId]));
}

/** People who are named in the event about a deleted conversation. */
const MOST_NAMED = 1000;

/** Deletes a group or channel with all of its messages. */
export async function deleteForEveryone(
  parts: ConversationParts,
  { conversation, head }: MemberStanding,
  context: CallContext,
): Promise<void> {
  const where = { conversationId: conversation.id, isActive: true, kind: 'user' } as const;
  const members = await parts.members.find({ where, limit: MOST_NAMED });
  const userIds = members.map(({ principalId }) => principalId);
  deleteConversation(parts, context.work, context.event.bind(context), { conversation, head }, userIds);
}
