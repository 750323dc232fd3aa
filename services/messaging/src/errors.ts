import { AppError, defineConflict, defineInvalid, rateLimitError } from '@commonplace/kit/errors';

export const DirectConversation = defineInvalid(
  'direct_conversation',
  'A direct conversation always has exactly two members. Create a group to talk with more people.',
);
export const ConversationArchived = defineConflict(
  'conversation_archived',
  'The conversation is archived and can only be read. A manager can reopen it with is_archived: false.',
);
export const MessageDeleted = defineConflict('message_deleted', 'The message was deleted and cannot be changed.');
export const MemberUnavailable = defineConflict(
  'member_unavailable',
  'The other person no longer belongs to this Org or workspace and gets no messages here.',
);
export const LastOwner = defineConflict(
  'last_owner',
  'A conversation needs an owner. Make another member an owner first, or delete it with for=everyone.',
);
export const ClientMessageIdReused = defineConflict(
  'idempotency_key_reused',
  'You have sent another message with this client_message_id. Choose a new one for each message.',
);

/** Returns the error for a mention of everyone that follows another one too soon. */
export function tooManyMentionsOfAll(seconds: number, retryAfter: number): AppError {
  const message = `Everybody in a conversation can be mentioned once in ${seconds} seconds.`;
  const rate = { policy: 'mention_all', limit: 1, windowSeconds: seconds, retryAfter, reason: 'rate' };
  return rateLimitError(rate, message);
}

/** Returns the error for a list with too many items. */
export function tooManyItems(param: string, limit: number): AppError {
  return new AppError('INVALID_ARGUMENT', 'too_many_items', `${param} takes at most ${limit} items.`, { param });
}
