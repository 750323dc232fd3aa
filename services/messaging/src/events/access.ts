import { AppError } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { MembershipCache } from '@commonplace/platform/memberships';
import { seenData, type VisibleResources } from '@commonplace/platform/public-events';
import type { MemberStanding } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import type { ConversationReaders } from './conversation-readers.js';
import type { ReaderChecks } from './reader-checks.js';
import type { StreamEvent } from './records.js';
import type { View } from './view.js';

export interface AccessParts {
  readonly memberships: MembershipCache;
  readonly checks: ReaderChecks;
  readonly conversations: ConversationReaders;
  systemCall(): CallOptions;
  /** Returns the current time in epoch milliseconds. */
  now(): number;
}

type Data = StreamEvent['data'];

const NOTHING: VisibleResources = new Map();

/**
 * Returns the data of each event that the reader may see now; undefined if the reader may see nothing. It caches
 * nothing about access between calls, except memberships for two seconds.
 */
export async function visibleData(
  parts: AccessParts,
  view: View,
  events: readonly StreamEvent[],
): Promise<(Data | undefined)[]> {
  const { userId } = view.caller;
  const ids = events.flatMap(({ audience }) => audience.resources?.ids ?? []);
  const asksPerson = events.some(({ audience }) => audience.people ?? audience.workspace ?? audience.org);
  const conversations = [...new Set(events.flatMap(({ audience }) => audience.conversation?.id ?? []))];
  const [visible, person, memberships, deleted] = await Promise.all([
    ids.length === 0 ? NOTHING : parts.checks.visibleTo(userId, ids),
    asksPerson ? parts.memberships.of(userId, parts.systemCall()) : undefined,
    membershipsIn(parts, view, conversations),
    deletedMessages(parts, events),
  ]);
  return Promise.all(
    events.map((event) => {
      const { audience, data, type } = event;
      if (type === 'reset') return data;
      if (type === 'conversation.read') return countsFor(parts, view, event);
      const membership = memberships.get(audience.conversation?.id ?? '');
      const reaches = (workspaceId: string) => view.reaches(event.orgId, workspaceId);
      const seen = seenData(event, { person, resources: visible, membership, reaches });
      return seen && deleted.has(String(data.message_id)) ? { ...seen, ...WITHOUT_TEXT } : seen;
    }),
  );
}

/** Milliseconds after which the message of an event may have been deleted before the event is sent. */
const DELETABLE_MS = 2_000;
const WITHOUT_TEXT = { text: '', text_is_cut: false };

/**
 * Returns the messages whose text the log still has, although they were deleted or have expired. It looks up none for
 * events that are sent as they happen.
 */
async function deletedMessages(
  { conversations, now }: Pick<AccessParts, 'conversations' | 'now'>,
  events: readonly StreamEvent[],
): Promise<ReadonlySet<string>> {
  const before = new Date(now() - DELETABLE_MS).toISOString();
  const withText = events.filter(
    ({ data, keptAt }) => keptAt < before && typeof data.text === 'string' && data.text !== '',
  );
  const ids = [
    ...new Set(withText.flatMap(({ data }) => (typeof data.message_id === 'string' ? data.message_id : []))),
  ];
  const present = ids.length === 0 ? new Set<string>() : await conversations.presentMessages(ids);
  return new Set(ids.filter((id) => !present.has(id)));
}

/** Returns the reader's membership of each conversation, by conversation id. */
async function membershipsIn(
  { conversations }: AccessParts,
  { caller, context }: View,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MemberStanding>> {
  if (ids.length === 0) return NO_MEMBERSHIPS;
  const pairs = ids.map((conversationId) => ({ userId: caller.userId, conversationId }));
  const memberships = await conversations.membershipsOf(pairs, context);
  return new Map(memberships.map((membership) => [membership.conversationId, membership]));
}

const NO_MEMBERSHIPS: ReadonlyMap<string, MemberStanding> = new Map();

/**
 * Returns the current marker and counts for the reader; undefined if the event concerns another person or the reader is
 * no longer a member.
 */
async function countsFor(
  { conversations }: AccessParts,
  { caller, context }: View,
  { audience, data }: StreamEvent,
): Promise<Data | undefined> {
  if (!audience.people?.includes(caller.userId)) return undefined;
  try {
    const counts = await conversations.countsOf(String(data.conversation_id), context);
    return {
      conversation_id: data.conversation_id,
      last_read_seq: counts.lastReadSeq,
      unread_count: counts.unreadCount,
      mention_count: counts.mentionCount,
      total_unread: counts.totalUnread,
    };
  } catch (error) {
    if (error instanceof AppError && GONE.has(error.code)) return undefined;
    throw error;
  }
}

const GONE: ReadonlySet<AppError['code']> = new Set(['NOT_FOUND', 'PERMISSION_DENIED']);
