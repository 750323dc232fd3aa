import { credentialOutOfScope, reachesPlace, reachesTenant, reachesWorkspace } from '@commonplace/kit/auth';
import { invalidField, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { findPages, isWithinTimes, pageOfAll, parsePageRequest, type Where } from '@commonplace/kit/store';
import { callerMemberships, type PersonMemberships } from '@commonplace/platform/memberships';
import { ConversationType } from '@commonplace/proto/messaging/v1/conversation.js';
import type {
  ListConversationsRequest,
  ListConversationsResponse,
} from '@commonplace/proto/messaging/v1/conversation_service.js';
import { matchesName, parseMessageQuery } from '../domain/message-terms.js';
import { countUnreadIn, headsOf, isMutedAt, membershipsOf, type Unread } from './counts.js';
import type { ConversationParts } from './parts.js';
import { belongsTo, mayJoinChannels } from './policy.js';
import { countListed, type ListedConversation, NOTHING_COUNTED, presentListed } from './present.js';
import type { ConversationRecord, HeadRecord, MemberRecord } from './records.js';
import { conversationsWith } from './search.js';
import { typeOf } from './wire.js';

/** A conversation of a member, before its conversation record is read. */
interface Candidate {
  /** The id of the conversation. */
  readonly id: string;
  readonly version: number;
  readonly member: MemberRecord;
  readonly head: HeadRecord;
  readonly lastMessageAt: string;
}

/** The person's conversations that a credential reaches, and the number of unread messages by conversation. */
interface ReachedConversations {
  readonly person: PersonMemberships;
  readonly candidates: readonly Candidate[];
  readonly unread: ReadonlyMap<string, number>;
}

/** The unread count of one conversation, with the records that it was counted from. */
type CountedUnread = Pick<Candidate, 'head' | 'member'> & Pick<Unread, 'unreadCount'>;

/**
 * Returns the number of unread messages in all conversations that are neither muted nor archived. For conversations in
 * `shown` it uses the counts given there, so that the sum agrees with the list in the same answer.
 */
export function sumUnread(
  { person, candidates, unread }: ReachedConversations,
  shown: readonly CountedUnread[],
  now: number,
): number {
  const counted = new Map<string, CountedUnread>(
    candidates.map(({ id, head, member }) => [id, { head, member, unreadCount: unread.get(id) ?? 0 }]),
  );
  for (const one of shown) counted.set(one.head.id, one);
  let sum = 0;
  for (const { head, member, unreadCount } of counted.values()) {
    const isLeftOut = head.isArchived || isInArchive(person, member) || isMutedAt(member, now);
    if (!isLeftOut) sum += unreadCount;
  }
  return sum;
}

/** Returns the caller's conversations that the credential reaches, and counts their unread messages. */
export async function reachConversations(
  parts: ConversationParts,
  { caller, onward }: Pick<CallContext, 'caller' | 'onward'>,
): Promise<ReachedConversations> {
  const person = await parts.memberships.of(caller.userId, onward);
  const breathe = createBreathe();
  const readAt = parts.now();
  const memberships = (await membershipsOf(parts.members, caller.userId)).filter(
    (member) => belongsTo(person, member) && reachesPlace(caller, member),
  );
  const ids = memberships.map(({ conversationId }) => conversationId);
  const heads = await headsOf(parts.heads, ids, breathe);
  const unread = await countUnreadIn(parts, { memberships, heads, readAt }, breathe);
  const candidates = memberships.flatMap((member): Candidate[] => {
    const head = heads.get(member.conversationId);
    if (head === undefined) return [];
    return [{ id: head.id, version: head.version, member, head, lastMessageAt: head.lastMessageAt }];
  });
  return { person, candidates, unread };
}

function isInArchive({ workspaces }: PersonMemberships, { workspaceId }: MemberRecord): boolean {
  return workspaceId !== undefined && workspaces.get(workspaceId)?.archived === true;
}

export async function listConversations(
  parts: ConversationParts,
  request: ListConversationsRequest,
  context: CallContext,
): Promise<ListConversationsResponse> {
  if (request.workspaceId !== undefined && request.orgId !== undefined) {
    throw invalidField('org_id', 'ambiguous_target', 'does not go with workspace_id.');
  }
  await requirePlaces(parts, request, context);
  const reached = await reachConversations(parts, context);
  if (request.joinable) return listJoinable(parts, request, reached, context);
  const chosen = await search(parts, request, await withOrigin(parts, request, choose(request, reached)));
  const { items, page } = pageOfAll(parsePageRequest(request.page), chosen, ['-lastMessageAt']);
  const records = await parts.conversations.getMany(items.map(({ id }) => id));
  const byId = new Map(records.map((record) => [record.id, record]));
  const listed = items.flatMap(({ id, head, member }) => {
    const conversation = byId.get(id);
    return conversation === undefined ? [] : [{ conversation, head, member }];
  });
  const counted = await countListed(parts, listed);
  const totalUnread = sumUnread(reached, counted, parts.now());
  return { items: await presentListed(parts, counted, context), totalUnread, page };
}

/** Throws `NotFound` for a workspace or an Org that the caller is not in. */
async function requirePlaces(
  { memberships }: ConversationParts,
  { workspaceId, orgId }: ListConversationsRequest,
  context: CallContext,
): Promise<void> {
  const isIn = ({ workspaces, orgs }: PersonMemberships) =>
    (workspaceId === undefined || workspaces.has(workspaceId)) && (orgId === undefined || orgs.has(orgId));
  const person = await callerMemberships(memberships, context, isIn);
  if (!isIn(person)) throw NotFound({}, { param: workspaceId === undefined ? 'org_id' : 'workspace_id' });
  const named = workspaceId === undefined ? orgId : person.workspaces.get(workspaceId)?.orgId || undefined;
  const reaches =
    workspaceId === undefined
      ? orgId === undefined || reachesTenant(context.caller, orgId)
      : reachesWorkspace(context.caller, workspaceId, named ?? null);
  if (!reaches) throw credentialOutOfScope(context.caller, named ?? null);
}

function choose(
  { workspaceId, orgId, type, unreadOnly, isArchived }: ListConversationsRequest,
  { candidates, unread }: ReachedConversations,
): Candidate[] {
  return candidates.filter(
    ({ member, head }) =>
      (workspaceId === undefined || member.workspaceId === workspaceId) &&
      (orgId === undefined || member.orgId === orgId) &&
      (type === ConversationType.UNSPECIFIED || member.type === typeOf(type)) &&
      (!unreadOnly || unread.has(head.id)) &&
      (isArchived === undefined || head.isArchived === isArchived) &&
      !isHidden(member, head),
  );
}

/** Returns whether a direct conversation has had no message since its member has hidden it. */
function isHidden({ hiddenSeq }: MemberRecord, { lastSeq }: HeadRecord): boolean {
  return hiddenSeq !== undefined && lastSeq <= hiddenSeq;
}

const CHUNK = 500;

/** Returns whether a conversation has the times and the creator that a request asks for. */
function isOfOrigin(conversation: ConversationRecord, request: ListConversationsRequest): boolean {
  const { createdBy, createdForId } = conversation;
  const isCreator = request.createdBy === undefined || [createdBy.id, createdForId].includes(request.createdBy);
  return isCreator && isWithinTimes(conversation, request);
}

/** Returns the conversations with the times and the creator that a request asks for; reads them only if it does. */
async function withOrigin(
  parts: ConversationParts,
  request: ListConversationsRequest,
  candidates: Candidate[],
): Promise<Candidate[]> {
  const { createdBy, createdAfter, createdBefore, updatedAfter, updatedBefore } = request;
  const asked = createdBy ?? createdAfter ?? createdBefore ?? updatedAfter ?? updatedBefore;
  if (asked === undefined) return candidates;
  const breathe = createBreathe();
  const found = new Set<string>();
  for (let at = 0; at < candidates.length; at += CHUNK) {
    const records = await parts.conversations.getMany(candidates.slice(at, at + CHUNK).map(({ id }) => id));
    for (const record of records) if (isOfOrigin(record, request)) found.add(record.id);
    await breathe();
  }
  return candidates.filter(({ id }) => found.has(id));
}

/** Returns the conversations whose name, topic, nickname or visible messages contain the words of `q`. */
async function search(
  parts: ConversationParts,
  { q }: ListConversationsRequest,
  candidates: Candidate[],
): Promise<Candidate[]> {
  if (q === '') return candidates;
  const query = parseMessageQuery(q);
  if (query === undefined) return [];
  const memberships = candidates.map(({ member }) => member);
  const breathe = createBreathe();
  const found = new Set(await conversationsWith(parts.messages, memberships, query, breathe));
  for (let at = 0; at < candidates.length; at += CHUNK) {
    const some = candidates.slice(at, at + CHUNK);
    const records = await parts.conversations.getMany(some.map(({ id }) => id));
    const nicknames = new Map(some.map(({ id, member }) => [id, member.nickname]));
    for (const { id, name, topic } of records) {
      const words = [name, topic, nicknames.get(id)].filter((text) => text !== undefined).join('\n');
      if (matchesName(words, query)) found.add(id);
    }
    await breathe();
  }
  return candidates.filter(({ id }) => found.has(id));
}

/** Maximum number of channels that a request for joinable channels considers. */
const MAX_CHANNELS_READ = 10_000;
/** Number of channels that are read, and compared with the request, between two turns of other requests. */
const CHANNELS_AT_ONCE = 200;

/** Lists the channels that the caller may join and is not a member of, by creation time. */
async function listJoinable(
  parts: ConversationParts,
  asked: ListConversationsRequest,
  reached: ReachedConversations,
  context: CallContext,
): Promise<ListConversationsResponse> {
  const { workspaceId, orgId, type, q, isArchived, unreadOnly, page: request } = asked;
  const { caller } = context;
  const { person, candidates } = reached;
  const places = [
    ...[...person.workspaces.values()].map((one) => ({ workspaceId: one.workspaceId, orgId: one.orgId })),
    ...[...person.orgs.keys()].map((id) => ({ workspaceId: undefined, orgId: id })),
  ].filter(
    (place) =>
      (workspaceId === undefined || place.workspaceId === workspaceId) &&
      (orgId === undefined || place.orgId === orgId) &&
      mayJoinChannels(person, place) &&
      reachesPlace(caller, place),
  );
  const mine = new Set(candidates.map(({ id }) => id));
  const query = q === '' ? undefined : parseMessageQuery(q);
  const isAny = type === ConversationType.UNSPECIFIED || type === ConversationType.CHANNEL;
  const isJoinable = (channel: ConversationRecord): boolean =>
    !mine.has(channel.id) &&
    channel.isArchived === (isArchived ?? false) &&
    isOfOrigin(channel, asked) &&
    (q === '' || (query !== undefined && matchesName(`${channel.name}\n${channel.topic ?? ''}`, query)));
  const joinable: ConversationRecord[] = [];
  if (isAny && !unreadOnly) {
    for await (const channel of channelsIn(parts, places)) if (isJoinable(channel)) joinable.push(channel);
  }
  const { items, page } = pageOfAll(parsePageRequest(request), joinable, ['createdAt']);
  const heads = await headsOf(
    parts.heads,
    items.map(({ id }) => id),
    createBreathe(),
  );
  const listed = items.flatMap((conversation): ListedConversation[] => {
    const head = heads.get(conversation.id);
    return head === undefined ? [] : [{ conversation, head, member: undefined, ...NOTHING_COUNTED }];
  });
  const totalUnread = sumUnread(reached, [], parts.now());
  return { items: await presentListed(parts, listed, context), totalUnread, page };
}

/** Yields the channels of some places, at most `MAX_CHANNELS_READ` of workspaces and as many of Orgs. */
async function* channelsIn(
  { conversations }: ConversationParts,
  places: readonly { readonly workspaceId: string | undefined; readonly orgId: string }[],
): AsyncGenerator<ConversationRecord> {
  const workspaceIds = places.flatMap(({ workspaceId }) => workspaceId ?? []);
  const orgIds = places.flatMap(({ workspaceId, orgId }) => (workspaceId === undefined ? [orgId] : []));
  const wheres: Where<ConversationRecord>[] = [
    { workspaceId: { in: workspaceIds }, type: 'channel' },
    { orgId: { in: orgIds }, type: 'channel', workspaceId: { exists: false } },
  ];
  for (const where of wheres) {
    let read = 0;
    for await (const page of findPages(conversations, { where }, CHANNELS_AT_ONCE)) {
      yield* page;
      read += page.length;
      if (read >= MAX_CHANNELS_READ) break;
    }
  }
}
