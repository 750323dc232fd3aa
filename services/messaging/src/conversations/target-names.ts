import type { CallContext } from '@commonplace/kit/rpc';
import type { ConversationParts } from './parts.js';
import { belongsTo } from './policy.js';
import { memberId } from './records.js';

/**
 * Returns the names of those of the given conversations that the caller is a member of; the name of a direct
 * conversation is empty.
 */
export async function conversationNames(
  parts: Pick<ConversationParts, 'conversations' | 'members' | 'memberships'>,
  ids: readonly string[],
  { caller, onward }: CallContext,
): Promise<ReadonlyMap<string, string>> {
  const [person, conversations, members] = await Promise.all([
    parts.memberships.of(caller.userId, onward),
    parts.conversations.getMany(ids),
    parts.members.getMany(ids.map((id) => memberId(id, caller.userId))),
  ]);
  const mine = new Set(members.filter(({ isActive }) => isActive).map(({ conversationId }) => conversationId));
  return new Map(
    conversations
      .filter((conversation) => mine.has(conversation.id) && belongsTo(person, conversation))
      .map(({ id, name = '' }) => [id, name]),
  );
}
