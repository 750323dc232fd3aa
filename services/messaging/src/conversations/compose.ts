import { InsufficientRole, invalidField, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { isBlank } from '@commonplace/kit/words';
import { MentionType } from '@commonplace/proto/messaging/v1/message.js';
import type { NewMention, NewMessageAttachment } from '@commonplace/proto/messaging/v1/message_service.js';
import { tooManyItems, tooManyMentionsOfAll } from '../errors.js';
import type { StoredMention } from './message-records.js';
import { namesOf } from './names.js';
import type { ConversationParts } from './parts.js';
import { hasRole, type MemberAccess } from './policy.js';
import { readableAmong } from './readable.js';
import { memberId } from './records.js';

type ComposeParts = Pick<ConversationParts, 'settings' | 'members' | 'index' | 'users' | 'now'>;

/** Throws `missing_field` for a message that has neither text nor attachments. */
export function requireContent(text: string, resourceIds: readonly string[]): void {
  if (isBlank(text) && resourceIds.length === 0) {
    throw invalidField('text', 'missing_field', 'is required, or an attachment.');
  }
}

/** Returns the ids of the resources that a message attaches. Throws unless the caller can read all of them. */
export async function resolveAttachments(
  { settings, index }: Pick<ComposeParts, 'settings' | 'index'>,
  given: readonly NewMessageAttachment[],
  context: CallContext,
): Promise<string[]> {
  const ids = given.map(({ resourceId }) => resourceId);
  if (ids.length > settings.messageAttachments) throw tooManyItems('attachments', settings.messageAttachments);
  const readable = await readableAmong({ index }, ids, context);
  const at = ids.findIndex((id) => !readable.has(id));
  if (at >= 0) throw NotFound({}, { param: `attachments[${at}].resource_id` });
  return [...new Set(ids)];
}

/**
 * Returns the mentions of a message with names. Throws unless the mentioned people and agents are members of the
 * conversation.
 */
export async function resolveMentions(
  parts: ComposeParts,
  given: readonly NewMention[],
  access: MemberAccess,
  context: CallContext,
): Promise<StoredMention[]> {
  if (given.length > parts.settings.messageMentions) throw tooManyItems('mentions', parts.settings.messageMentions);
  const { conversation, member } = access;
  const wanted = new Map<string, { readonly type: 'user' | 'agent'; readonly at: number }>();
  let mentionsAll = false;
  for (const [at, { type, id }] of given.entries()) {
    if (type === MentionType.ALL) mentionsAll = true;
    else if (id === undefined) throw invalidField(`mentions[${at}].id`, 'missing_field', 'is required.');
    else if (!wanted.has(id)) wanted.set(id, { type: type === MentionType.AGENT ? 'agent' : 'user', at });
  }
  if (mentionsAll && conversation.whoCanMentionAll === 'managers' && !hasRole(member, 'manager')) {
    throw InsufficientRole({}, { message: 'Only managers of this conversation may mention everybody.' });
  }
  const ids = [...wanted.keys()];
  const found = await parts.members.getMany(ids.map((id) => memberId(conversation.id, id)));
  const active = new Map(found.filter(({ isActive }) => isActive).map((one) => [one.principalId, one]));
  for (const [id, { type, at }] of wanted) {
    if (active.get(id)?.kind === type) continue;
    throw invalidField(`mentions[${at}].id`, 'invalid_value', 'is not a member of the conversation.');
  }
  const names = await namesOf(
    parts,
    ids.filter((id) => wanted.get(id)?.type === 'user'),
    context,
  );
  const people = ids.map((id): StoredMention => {
    const { kind, agentName } = active.get(id) as { kind: 'user' | 'agent'; agentName?: string };
    return { type: kind, id, name: agentName ?? names.get(id) ?? '' };
  });
  return mentionsAll ? [{ type: 'all', id: '', name: '' }, ...people] : people;
}

/** Throws `rate_limited` if the last mention of everyone in the conversation is too recent. */
export function requireMentionOfAllDue(
  { settings, now }: Pick<ComposeParts, 'settings' | 'now'>,
  mentions: readonly StoredMention[],
  { head }: Pick<MemberAccess, 'head'>,
): void {
  const seconds = settings.mentionAllSeconds;
  if (head.lastMentionOfAllAt === undefined || !mentions.some(({ type }) => type === 'all')) return;
  const left = Date.parse(head.lastMentionOfAllAt) + seconds * 1000 - now();
  if (left > 0) throw tooManyMentionsOfAll(seconds, Math.ceil(left / 1000));
}
