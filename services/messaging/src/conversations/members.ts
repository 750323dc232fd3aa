import { LimitReached, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import { LastOwner } from '../errors.js';
import type { ConversationParts } from './parts.js';
import { belongsTo } from './policy.js';
import {
  type ConversationRecord,
  type HeadRecord,
  type MemberRecord,
  memberId,
  type Place,
  ROLE_RANKS,
  type Role,
} from './records.js';

/** A person or an agent to be added to a conversation. */
export interface Newcomer {
  readonly kind: 'user' | 'agent';
  readonly id: string;
  readonly role: Role;
  /** The name of an agent; absent for people. */
  readonly name?: string;
  /** The request field that names the newcomer. */
  readonly param: string;
}

/** Number of people that are looked up concurrently. */
const LOOKED_UP_AT_ONCE = 20;

/**
 * Returns the newcomers, agents with their names. Throws `NotFound` for a person who does not belong to the place, or
 * an agent that the caller may not use there.
 */
export async function requireKnown(
  parts: Pick<ConversationParts, 'memberships' | 'agents'>,
  newcomers: readonly Newcomer[],
  place: Place,
  context: CallContext,
): Promise<Newcomer[]> {
  const known: Newcomer[] = [];
  for (let at = 0; at < newcomers.length; at += LOOKED_UP_AT_ONCE) {
    const some = newcomers.slice(at, at + LOOKED_UP_AT_ONCE);
    known.push(...(await Promise.all(some.map((one) => lookUp(parts, one, place, context)))));
  }
  return known;
}

async function lookUp(
  { memberships, agents }: Pick<ConversationParts, 'memberships' | 'agents'>,
  newcomer: Newcomer,
  place: Place,
  context: CallContext,
): Promise<Newcomer> {
  const { kind, id, param } = newcomer;
  if (kind === 'agent') {
    const agent = await agents.find(id, place, context);
    if (agent === undefined) throw NotFound({}, { param });
    return { ...newcomer, name: agent.name };
  }
  const person = await memberships.of(id, context.onward);
  if (belongsTo(person, place) || belongsTo(await memberships.fresh(id, context.onward), place)) return newcomer;
  throw NotFound({}, { param });
}

/** Returns the record of a new member. Messages sent before do not count as unread. */
export function newMember(
  conversation: Pick<ConversationRecord, 'id' | 'tenant' | 'type' | 'orgId' | 'workspaceId'>,
  head: Pick<HeadRecord, 'lastSeq' | 'lastMessageId'>,
  { kind, id, role, name }: Omit<Newcomer, 'param'>,
  at: string,
  sharesHistory: boolean,
): Omit<MemberRecord, 'version'> {
  return {
    id: memberId(conversation.id, id),
    tenant: conversation.tenant,
    conversationId: conversation.id,
    principalId: id,
    kind,
    ...(name !== undefined && { agentName: name }),
    isActive: true,
    role,
    rank: ROLE_RANKS[role],
    joinedAt: at,
    lastReadSeq: head.lastSeq,
    ...(head.lastMessageId !== undefined && { lastReadMessageId: head.lastMessageId }),
    visibleFromSeq: sharesHistory ? 1 : head.lastSeq + 1,
    lastOwnSeq: 0,
    isMuted: false,
    isPinned: false,
    type: conversation.type,
    orgId: conversation.orgId,
    ...(conversation.workspaceId !== undefined && { workspaceId: conversation.workspaceId }),
  };
}

type MemberParts = Pick<ConversationParts, 'conversations' | 'heads' | 'members' | 'settings' | 'now'>;

/** The conversation after a change of its members, and the members that changed. */
interface MembersChange {
  readonly conversation: ConversationRecord;
  readonly changed: readonly MemberRecord[];
}

/**
 * Adds the newcomers who are not active members in a unit of work. `conversation` is its state in that unit; the caller
 * writes the returned one, which has the new number of members. Throws `limit_reached`.
 */
export async function addMembers(
  parts: MemberParts,
  work: UnitOfWork,
  conversation: ConversationRecord,
  newcomers: readonly Newcomer[],
  sharesHistory: boolean,
): Promise<MembersChange> {
  const head = await work.get(parts.heads, conversation.id);
  if (head === undefined) throw NotFound();
  // A message sent at the same time must not get a number before the first one that the newcomers see or behind their
  // marker.
  work.expect(parts.heads, head);
  const at = new Date(parts.now()).toISOString();
  const changed: MemberRecord[] = [];
  for (const newcomer of newcomers) {
    const before = await work.get(parts.members, memberId(conversation.id, newcomer.id));
    if (before?.isActive) continue;
    const after = newMember(conversation, head, newcomer, at, sharesHistory);
    changed.push(
      before === undefined
        ? work.insert(parts.members, after)
        : work.replace(parts.members, before, { ...after, lastOwnSeq: before.lastOwnSeq }),
    );
  }
  const memberCount = conversation.memberCount + changed.length;
  const limit = conversation.type === 'group' ? parts.settings.groupMembers : parts.settings.channelMembers;
  if (changed.length > 0 && memberCount > limit) throw LimitReached({ limit, what: 'members' });
  return { conversation: { ...conversation, memberCount }, changed };
}

/**
 * Ends memberships in a unit of work. The caller writes the returned conversation, which has the new number of members.
 */
export function removeMembers(
  parts: Pick<MemberParts, 'members'>,
  work: UnitOfWork,
  conversation: ConversationRecord,
  leaving: readonly MemberRecord[],
): MembersChange {
  const changed = leaving.map((member) => work.replace(parts.members, member, { ...member, isActive: false }));
  return { conversation: { ...conversation, memberCount: conversation.memberCount - changed.length }, changed };
}

export function withRole(member: MemberRecord, role: Role): MemberRecord {
  return { ...member, role, rank: ROLE_RANKS[role] };
}

/** Throws `last_owner` if there are active members and none of them is an owner. */
export function requireOwner(active: readonly Pick<MemberRecord, 'role'>[]): void {
  if (active.length > 0 && !active.some(({ role }) => role === 'owner')) throw LastOwner();
}

/** Maximum number of owners, or of leading members, that one query reads. */
const MAX_OWNERS_READ = 1000;

/** Returns the active owners of a conversation as they are stored. */
export function ownersOf({ members }: Pick<MemberParts, 'members'>, conversationId: string): Promise<MemberRecord[]> {
  const where = { conversationId, isActive: true, rank: ROLE_RANKS.owner };
  return members.find({ where, limit: MAX_OWNERS_READ });
}

/**
 * Makes a member an owner if none of the people left is one: of those with the highest role, the one who has been a
 * member for the longest time.
 */
export async function appointOwner(
  parts: Pick<MemberParts, 'members'>,
  work: UnitOfWork,
  { id: conversationId, type }: ConversationRecord,
  leaving: ReadonlySet<string>,
): Promise<void> {
  if (type === 'direct') return;
  const where = { conversationId, isActive: true, kind: 'user' } as const;
  const leading = await parts.members.find({ where, sort: ['rank'], limit: MAX_OWNERS_READ });
  const left = leading.filter(({ principalId }) => !leaving.has(principalId));
  const [first] = left;
  if (first === undefined || first.role === 'owner') return;
  const candidates = left.filter(({ rank }) => rank === first.rank);
  const successor = candidates.reduce((eldest, one) => (one.joinedAt < eldest.joinedAt ? one : eldest), first);
  work.replace(parts.members, successor, withRole(successor, 'owner'));
}
