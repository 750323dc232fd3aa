import type { Actor } from '@commonplace/kit/auth';
import type { UnitOfWork } from '@commonplace/kit/store';
import { type MakeEvent, messageEvent } from './events.js';
import type { MentionRecord, MessageRecord } from './message-records.js';
import type { ConversationParts } from './parts.js';
import type { ConversationRecord, HeadRecord } from './records.js';
import { changeReplyCount } from './send.js';

type RemoveParts = Pick<ConversationParts, 'heads' | 'messages' | 'mentions'>;

/** Maximum number of mention records read for one message, well above the largest limit that can be configured. */
const MAX_MENTIONS_READ = 1000;

export function mentionsIn({ mentions }: Pick<RemoveParts, 'mentions'>, messageId: string): Promise<MentionRecord[]> {
  return mentions.find({ where: { messageId }, limit: MAX_MENTIONS_READ });
}

/** Deletes a message in a unit of work: it keeps its number and loses its content. */
export async function deleteMessage(
  parts: RemoveParts,
  work: UnitOfWork,
  make: MakeEvent,
  { conversation, head }: { readonly conversation: ConversationRecord; readonly head: HeadRecord },
  message: MessageRecord,
  { at, by }: { readonly at: string; readonly by: Actor },
): Promise<void> {
  const { id, tenant, conversationId, seq, author, authorId, replyToId, threadId, threadReplyCount, createdAt } =
    message;
  const deleted = work.replace<MessageRecord>(parts.messages, message, {
    ...{ id, tenant, conversationId, seq, author, authorId, threadReplyCount, createdAt },
    ...{ text: '', resourceIds: [], mentions: [], reactions: [] },
    ...(replyToId !== undefined && { replyToId }),
    ...(threadId !== undefined && { threadId }),
    ...{ deletedAt: at, uncountedSeq: seq, deletedSeq: seq, updatedBy: by, updatedAt: at },
  });
  for (const mention of await mentionsIn(parts, id)) work.remove(parts.mentions, mention);
  if (threadId !== undefined) await changeReplyCount(parts, work, threadId, -1);
  work.replace(parts.heads, head, {
    ...head,
    deletedCount: head.deletedCount + 1,
    lastUncountedSeq: Math.max(head.lastUncountedSeq, seq),
    epoch: head.epoch + 1,
  });
  work.publish(messageEvent(make, 'deleted', conversation, deleted));
}
