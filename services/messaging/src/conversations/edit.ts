import { InsufficientRole, invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import { parseReactions, replaceReactions } from '@commonplace/platform/reactions';
import type { UpdateMessageRequest } from '@commonplace/proto/messaging/v1/message_service.js';
import { requireContent, requireMentionOfAllDue, resolveAttachments, resolveMentions } from './compose.js';
import { messageEvent } from './events.js';
import type { MessageRecord, StoredMention } from './message-records.js';
import type { ConversationParts } from './parts.js';
import type { MemberAccess } from './policy.js';
import { mentionsIn } from './remove-messages.js';
import { searchFields } from './search.js';
import { mentionRecordsOf } from './send.js';

const CONTENT = ['text', 'attachments', 'mentions'];

/** Throws `InsufficientRole` if a request changes the content of a message that the caller has not written. */
export function requireOwn(
  { updateMask = [] }: Pick<UpdateMessageRequest, 'updateMask'>,
  { author, authorId }: MessageRecord,
  { caller }: Pick<CallContext, 'caller'>,
): void {
  const isOwn = author.type === 'user' && authorId === caller.userId;
  if (isOwn || !updateMask.some((field) => CONTENT.includes(field))) return;
  throw InsufficientRole({}, { message: 'Only its author edits a message.' });
}

/** Edits the caller's own message, and sets the caller's reactions to it, in the unit of work of a call. */
export async function editMessage(
  parts: ConversationParts,
  request: UpdateMessageRequest,
  access: MemberAccess,
  before: MessageRecord,
  context: CallContext,
): Promise<MessageRecord> {
  const { caller, work } = context;
  const mask = new Set(request.updateMask);
  const changed = CONTENT.filter((field) => mask.has(field));
  const edited = changed.length > 0 ? await withContent(parts, request, mask, access, before, context) : before;
  const { added, isAll } = newMentions(before, edited);
  const reactions = mask.has('reactions')
    ? replaceReactions(edited.reactions, caller.userId, parseReactions(request.reactions))
    : edited.reactions;
  // Makes the commit fail if the conversation changes or is deleted at the same time; `replace` does so for the
  // message.
  work.expect(parts.conversations, access.conversation);
  const updated = { updatedBy: context.actor, updatedAt: new Date(parts.now()).toISOString() };
  const written = replaceChanged(work, parts.messages, before, { ...edited, reactions, ...updated });
  if (written === before) return before;
  if (mask.has('mentions')) await replaceMentions(parts, written, access, isAll, context);
  const make = context.event.bind(context);
  const changedFields = mask.has('reactions') ? [...changed, 'reactions'] : changed;
  const news = { changedFields, mentionedUserIds: added, mentionsAll: isAll };
  work.publish(messageEvent(make, 'updated', access.conversation, written, news));
  return written;
}

async function withContent(
  parts: ConversationParts,
  { text, attachments, mentions }: UpdateMessageRequest,
  mask: ReadonlySet<string>,
  access: MemberAccess,
  before: MessageRecord,
  context: CallContext,
): Promise<MessageRecord> {
  const { terms: _, folded: __, ...rest } = before;
  if (mask.has('text') && text === undefined) throw invalidField('text', 'missing_field', 'is required.');
  const newText = mask.has('text') ? (text as string) : before.text;
  const resourceIds = mask.has('attachments')
    ? await resolveAttachments(parts, attachments, context)
    : before.resourceIds;
  requireContent(newText, resourceIds);
  return {
    ...rest,
    text: newText,
    resourceIds,
    mentions: mask.has('mentions') ? await resolveMentions(parts, mentions, access, context) : before.mentions,
    editedAt: new Date(parts.now()).toISOString(),
    ...searchFields(before.conversationId, newText),
  };
}

/**
 * Returns the people whom the edit mentions for the first time, and whether it mentions everyone for the first time.
 */
function newMentions(before: MessageRecord, after: MessageRecord): { added: string[]; isAll: boolean } {
  const isOf = (mentions: readonly StoredMention[], id: string) => mentions.some((one) => one.id === id);
  const added = after.mentions.filter(({ type, id }) => type === 'user' && !isOf(before.mentions, id));
  const had = before.mentions.some(({ type }) => type === 'all');
  return { added: added.map(({ id }) => id), isAll: !had && after.mentions.some(({ type }) => type === 'all') };
}

/** Replaces the mention records of a message. Counts of unread mentions are computed from these records. */
async function replaceMentions(
  parts: ConversationParts,
  message: MessageRecord,
  access: MemberAccess,
  isAll: boolean,
  { work }: CallContext,
): Promise<void> {
  if (isAll) requireMentionOfAllDue(parts, message.mentions, access);
  const wanted = mentionRecordsOf(message, message.mentions);
  const old = await mentionsIn(parts, message.id);
  const kept = new Set(old.map(({ id }) => id));
  for (const mention of old) if (!wanted.some(({ id }) => id === mention.id)) work.remove(parts.mentions, mention);
  for (const mention of wanted) if (!kept.has(mention.id)) work.insert(parts.mentions, mention);
  const { head } = access;
  work.replace(parts.heads, head, {
    ...head,
    ...(wanted.length > 0 && { lastMentionSeq: Math.max(head.lastMentionSeq, message.seq) }),
    ...(isAll && { lastMentionOfAllAt: new Date(parts.now()).toISOString() }),
    epoch: head.epoch + 1,
  });
}
