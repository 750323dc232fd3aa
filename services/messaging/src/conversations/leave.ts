import type { CallContext } from '@commonplace/kit/rpc';
import { findEach } from '@commonplace/kit/store';
import { conversationEvent, readEvent } from './events.js';
import { otherPeople } from './leavers.js';
import { ownersOf, removeMembers, requireOwner } from './members.js';
import type { ConversationParts } from './parts.js';
import type { MemberAccess } from './policy.js';
import { deleteConversation } from './removal.js';

/**
 * Makes the caller leave a group or channel, which is deleted if no other person is left, or hides a direct
 * conversation until its next message.
 */
export async function leaveConversation(
  parts: ConversationParts,
  { conversation, head, member }: MemberAccess,
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
  const updated = { updatedAt: new Date(parts.now()).toISOString(), updatedBy: context.actor };
  const written = work.replace(parts.conversations, conversation, { ...after, ...updated });
  work.publish(conversationEvent(make, written, ['members'], [member.principalId]));
}

/** Number of members that one query reads. */
const CHUNK = 500;

/** Deletes a group or channel with all of its messages. */
export async function deleteForEveryone(
  parts: ConversationParts,
  { conversation, head }: MemberAccess,
  context: CallContext,
): Promise<void> {
  const userIds = await peopleIn(parts, conversation.id);
  deleteConversation(parts, context.work, context.event.bind(context), { conversation, head }, userIds);
}

/** Returns the ids of all people who are members of a conversation. */
async function peopleIn({ members }: ConversationParts, conversationId: string): Promise<string[]> {
  const where = { conversationId, isActive: true, kind: 'user' } as const;
  const ids: string[] = [];
  for await (const { principalId } of findEach(members, { where }, CHUNK)) ids.push(principalId);
  return ids;
}
