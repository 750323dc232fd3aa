import { invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import type { UpdateConversationSettingsRequest } from '@commonplace/proto/messaging/v1/conversation_service.js';
import { conversationEvent, readEvent } from './events.js';
import type { ConversationParts } from './parts.js';
import type { MemberAccess } from './policy.js';
import type { ConversationRecord, MemberRecord } from './records.js';
import { scheduleRetention } from './retention.js';
import { levelOf, whoOf } from './wire.js';

const SHARED = ['who_can_post', 'who_can_mention_all', 'retention_days'];

/** Returns whether a request changes settings that all members share. */
export function changesShared({ updateMask = [] }: UpdateConversationSettingsRequest): boolean {
  return updateMask.some((path) => SHARED.includes(path));
}

export async function changeSettings(
  parts: ConversationParts,
  request: UpdateConversationSettingsRequest,
  { conversation, member }: MemberAccess,
  context: CallContext,
): Promise<{ readonly conversation: ConversationRecord; readonly member: MemberRecord }> {
  const mask = new Set(request.updateMask);
  const shared = SHARED.filter((field) => mask.has(field));
  return {
    member: mask.size > shared.length ? changeOwn(parts, request, mask, member, context) : member,
    conversation:
      shared.length > 0 ? await changeShared(parts, request, mask, shared, conversation, context) : conversation,
  };
}

function changeOwn(
  parts: ConversationParts,
  request: UpdateConversationSettingsRequest,
  mask: ReadonlySet<string>,
  member: MemberRecord,
  context: CallContext,
): MemberRecord {
  const { mutedUntil: _, ...rest } = member;
  const { isMuted, mutedUntil } = muted(parts, request, mask, member);
  const after = replaceChanged<MemberRecord>(context.work, parts.members, member, {
    ...rest,
    isMuted,
    ...(mutedUntil !== undefined && { mutedUntil }),
    ...(mask.has('notify') && request.notify !== undefined && { notify: levelOf(request.notify) }),
    ...(mask.has('is_pinned') && request.isPinned !== undefined && { isPinned: request.isPinned }),
    ...(mask.has('nickname') && { nickname: request.nickname }),
  });
  if (after !== member) context.work.publish(readEvent(context.event.bind(context), after, true));
  return after;
}

function muted(
  { now }: ConversationParts,
  request: UpdateConversationSettingsRequest,
  mask: ReadonlySet<string>,
  before: MemberRecord,
): { readonly isMuted: boolean; readonly mutedUntil: string | undefined } {
  const until = mask.has('muted_until') ? request.mutedUntil : undefined;
  if (request.isMuted === false) {
    if (until !== undefined) throw invalidField('muted_until', 'invalid_value', 'does not go with is_muted: false.');
    return { isMuted: false, mutedUntil: undefined };
  }
  if (until !== undefined && Date.parse(until) <= now()) {
    throw invalidField('muted_until', 'invalid_value', 'must be in the future.');
  }
  if (!mask.has('muted_until') && request.isMuted === undefined) {
    return { isMuted: before.isMuted, mutedUntil: before.mutedUntil };
  }
  return { isMuted: request.isMuted === true || until !== undefined || before.isMuted, mutedUntil: until };
}

async function changeShared(
  parts: ConversationParts,
  { whoCanPost, whoCanMentionAll, retentionDays }: UpdateConversationSettingsRequest,
  mask: ReadonlySet<string>,
  fields: readonly string[],
  before: ConversationRecord,
  context: CallContext,
): Promise<ConversationRecord> {
  const { retentionDays: kept, ...rest } = before;
  const days = mask.has('retention_days') ? retentionDays : kept;
  const updatedAt = new Date(parts.now()).toISOString();
  const after = replaceChanged<ConversationRecord>(context.work, parts.conversations, before, {
    ...{ ...rest, updatedAt, updatedBy: context.actor },
    ...(whoCanPost !== undefined && { whoCanPost: whoOf(whoCanPost) }),
    ...(whoCanMentionAll !== undefined && { whoCanMentionAll: whoOf(whoCanMentionAll) }),
    ...(days !== undefined && { retentionDays: days }),
  });
  if (after === before) return before;
  if (mask.has('retention_days')) await scheduleRetention(parts, context.work, after);
  context.work.publish(conversationEvent(context.event.bind(context), after, fields));
  return after;
}
