import { type EventBus, type Subscription, systemActor } from '@commonplace/kit/events';
import { findEach, inWork } from '@commonplace/kit/store';
import { consume, MEMBER_LEFT, type TypedEvent } from '@commonplace/platform/events';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import { conversationEvent, type MakeEvent } from './events.js';
import { appointOwner, removeMembers } from './members.js';
import type { ConversationParts } from './parts.js';
import { belongsTo } from './policy.js';
import { type MemberRecord, memberId } from './records.js';
import { deleteConversation } from './removal.js';
import { systemEvent } from './retention.js';

/**
 * Subscribes to people leaving a workspace or an Org, and ends their memberships in its groups and channels. Every call
 * checks access by itself; this keeps the lists of members correct and appoints a new owner.
 */
export function watchLeavers(parts: ConversationParts, bus: EventBus): Promise<Subscription> {
  return consume(bus, { consumer: 'messaging.leavers', events: MEMBER_LEFT }, (event) => follow(parts, event));
}

/**
 * Subscribes to members who are added to groups and channels. Whoever left the place at the same moment is removed again:
 * `watchLeavers` may have looked before the membership was there.
 */
export function watchLateMembers(parts: ConversationParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'messaging.late-members', events: ['messaging.conversation.updated'] } as const;
  return consume(bus, spec, async ({ data: { conversationId, workspaceId, orgId, userIds } }) => {
    const departures = await parts.departures.from(workspaceId || orgId, userIds);
    for (const userId of departures.keys()) {
      const member = await parts.members.get(memberId(conversationId, userId));
      if (member === undefined) continue;
      await endUnlessMember(parts, member, await parts.memberships.fresh(userId, parts.systemCall()));
    }
  });
}

const CHUNK = 500;

/** Handles one event by the current state, so that a person who was added again in the meantime loses nothing. */
async function follow(parts: ConversationParts, event: TypedEvent<(typeof MEMBER_LEFT)[number]>): Promise<void> {
  const { tenant } = event;
  const { userId } = event.data;
  if (userId === '' || tenant === undefined) return;
  await parts.departures.store(event);
  const person = await parts.memberships.fresh(userId, parts.systemCall());
  // A person who is suspended, or whose Org is to be deleted, belongs to no place for a while, and keeps the other ones.
  const isAt = ({ workspaceId }: MemberRecord) =>
    event.name === 'tenancy.org_member.removed' || workspaceId === event.data.workspaceId;
  for await (const member of findEach(parts.members, { where: { tenant, principalId: userId } }, CHUNK)) {
    if (isAt(member)) await endUnlessMember(parts, member, person);
  }
}

/** Ends a membership in a group or channel whose place the person does not belong to. */
async function endUnlessMember(
  parts: ConversationParts,
  member: MemberRecord,
  person: PersonMemberships,
): Promise<void> {
  // A direct conversation keeps its two people, so that a person who returns can continue it.
  if (!member.isActive || member.type === 'direct' || belongsTo(person, member)) return;
  await endMembership(parts, member.id, systemEvent);
}

/**
 * Ends the membership of a person who has lost access. If no other person is left it deletes the conversation,
 * otherwise it makes sure that there is an owner.
 */
export function endMembership(parts: ConversationParts, id: string, make: MakeEvent): Promise<void> {
  return inWork(parts.store, async (work) => {
    const member = await parts.members.get(id);
    if (!member?.isActive) return;
    const { conversationId } = member;
    const [conversation, head] = await Promise.all([
      parts.conversations.get(conversationId),
      parts.heads.get(conversationId),
    ]);
    if (conversation === undefined || head === undefined) return;
    const others = await otherPeople(parts, member);
    if (others === 0) return deleteConversation(parts, work, make, { conversation, head }, [member.principalId]);
    const { conversation: after } = removeMembers(parts, work, conversation, [member]);
    await appointOwner(parts, work, conversation, new Set([member.principalId]));
    const updated = { updatedAt: new Date(parts.now()).toISOString(), updatedBy: systemActor('messaging') };
    const written = work.replace(parts.conversations, conversation, { ...after, ...updated });
    work.publish(conversationEvent(make, written, ['members'], [member.principalId]));
  });
}

/** Counts the people in a conversation besides one person, up to 1. */
export async function otherPeople(
  { members }: Pick<ConversationParts, 'members'>,
  { conversationId, principalId }: MemberRecord,
): Promise<number> {
  const where = { conversationId, isActive: true, kind: 'user', principalId: { not: principalId } } as const;
  return members.count(where, 1);
}
