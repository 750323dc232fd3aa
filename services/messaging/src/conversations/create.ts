import { personBehind } from '@commonplace/kit/auth';
import { type Fault, invalidField, invalidFields, LimitReached } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { CreateConversationRequest } from '@commonplace/proto/messaging/v1/conversation_service.js';
import { conversationEvent } from './events.js';
import { type Newcomer, newMember, requireKnown } from './members.js';
import type { ConversationParts } from './parts.js';
import { choosePlace, type MemberAccess } from './policy.js';
import {
  type ConversationRecord,
  directId,
  type HeadRecord,
  type MemberRecord,
  memberId,
  type Place,
} from './records.js';
import { roleOf, typeOf } from './wire.js';

/** A created conversation, or the direct conversation that the two people already had. */
interface Created extends MemberAccess {
  readonly existed: boolean;
}

/** Creates a conversation with its members in the unit of work of a call. */
export async function createConversation(
  parts: ConversationParts,
  request: CreateConversationRequest,
  context: CallContext,
): Promise<Created> {
  const type = typeOf(request.type);
  const others = membersIn(request).filter(({ id }) => id !== context.caller.userId);
  checkForm(request, type, others);
  const { place, people } = await choosePlace(parts, request, type, context);
  const known = await requireKnown(parts, others, people, context);
  if (type !== 'direct') return insert(parts, newId(), type, place, request, known, context);
  const [other] = known as [Newcomer];
  const id = directId(place.tenant, context.caller.userId, other.id);
  return (await existing(parts, id, context)) ?? insert(parts, id, type, place, request, [other], context);
}

/** Returns the members that a request names, without duplicates. */
function membersIn({ memberIds, members }: CreateConversationRequest): Newcomer[] {
  const faults: Fault[] = [];
  const named = [
    ...memberIds.map((id, at): Newcomer => ({ kind: 'user', id, role: 'member', param: `member_ids[${at}]` })),
    ...members.flatMap(({ userId, agentId, role }, at): Newcomer[] => {
      const id = userId ?? agentId;
      const param = `members[${at}]`;
      if (id === undefined) {
        faults.push({ param: `${param}.user_id`, code: 'missing_field', message: 'is required, or agent_id.' });
        return [];
      }
      if (userId !== undefined && agentId !== undefined) {
        faults.push({
          param: `${param}.agent_id`,
          code: 'ambiguous_target',
          message: 'is not allowed together with user_id.',
        });
        return [];
      }
      const kind = userId === undefined ? 'agent' : 'user';
      const wanted = roleOf(role) ?? 'member';
      if (kind === 'agent' && wanted !== 'member') {
        faults.push({ param: `${param}.role`, code: 'invalid_value', message: 'of an agent must be member.' });
      }
      return [{ kind, id, role: wanted, param: `${param}.${kind}_id` }];
    }),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  return [...new Map(named.map((one) => [one.id, one])).values()];
}

function checkForm(
  { name, topic, icon }: CreateConversationRequest,
  type: ConversationRecord['type'],
  others: readonly Newcomer[],
): void {
  if (type === 'channel' && name === undefined) throw invalidField('name', 'missing_field', 'is required.');
  if (type !== 'direct') return;
  const [other] = others;
  if (others.length !== 1 || other?.kind !== 'user') {
    throw invalidField('member_ids', 'invalid_value', 'must name exactly one other person.');
  }
  if (other.role !== 'member') {
    throw invalidField(
      other.param.replace(/user_id$/, 'role'),
      'invalid_value',
      'must be member in a direct conversation.',
    );
  }
  for (const [param, value] of [
    ['name', name],
    ['topic', topic],
    ['icon', icon],
  ] as const) {
    if (value !== undefined) throw invalidField(param, 'invalid_value', 'does not go with a direct conversation.');
  }
}

/** Returns the direct conversation that two people already have, if any, and shows it again to the caller. */
async function existing(parts: ConversationParts, id: string, context: CallContext): Promise<Created | undefined> {
  const { work, caller } = context;
  const conversation = await work.get(parts.conversations, id);
  const head = await work.get(parts.heads, id);
  const member = await work.get(parts.members, memberId(id, caller.userId));
  if (conversation === undefined || head === undefined || member === undefined) return undefined;
  const { hiddenSeq, ...shown } = member;
  const mine = hiddenSeq === undefined ? member : work.replace(parts.members, member, shown);
  return { conversation, head, member: mine, isWorkspaceArchived: false, existed: true };
}

async function insert(
  parts: ConversationParts,
  id: string,
  type: ConversationRecord['type'],
  place: Place,
  { name, topic, icon }: CreateConversationRequest,
  others: readonly Newcomer[],
  context: CallContext,
): Promise<Created> {
  const { work, caller, actor } = context;
  const limit = type === 'channel' ? parts.settings.channelMembers : parts.settings.groupMembers;
  if (others.length + 1 > limit) throw LimitReached({ limit, what: 'members' });
  await parts.conversationQuota.reserve(work, place.tenant, 1, id);
  const at = new Date(parts.now()).toISOString();
  const { tenant, orgId, workspaceId } = place;
  const [other] = others;
  const conversation = work.insert<ConversationRecord>(parts.conversations, {
    ...{ id, tenant, orgId, type },
    ...(workspaceId !== undefined && { workspaceId }),
    ...(name !== undefined && { name }),
    ...(topic !== undefined && { topic }),
    ...(icon !== undefined && { icon }),
    ...{ isArchived: false, whoCanPost: 'all', whoCanMentionAll: 'managers' },
    memberCount: others.length + 1,
    ...(type === 'direct' && { pair: [caller.userId, (other as Newcomer).id] }),
    ...{ createdBy: actor, createdForId: personBehind(actor, caller) },
    ...{ createdAt: at, updatedAt: at, updatedBy: actor },
  });
  const head = work.insert<HeadRecord>(parts.heads, {
    ...{ id, tenant, lastSeq: 0, firstSeq: 1, lastMessageAt: at, lastUncountedSeq: 0, lastMentionSeq: 0 },
    ...{ deletedCount: 0, epoch: 0, isArchived: false },
  });
  const mine = { kind: 'user', id: caller.userId, role: type === 'direct' ? 'member' : 'owner' } as const;
  const member = work.insert<MemberRecord>(parts.members, newMember(conversation, head, mine, at, true));
  for (const one of others) work.insert<MemberRecord>(parts.members, newMember(conversation, head, one, at, true));
  const userIds = [mine, ...others].filter(({ kind }) => kind === 'user').map((one) => one.id);
  work.publish(conversationEvent(context.event.bind(context), conversation, ['created'], userIds));
  return { conversation, head, member, isWorkspaceArchived: false, existed: false };
}
