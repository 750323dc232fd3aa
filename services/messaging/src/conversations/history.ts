import { invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import {
  countTotal,
  keyset,
  parsePageRequest,
  type Slice,
  type Sort,
  type Total,
  toPage,
  type Where,
} from '@commonplace/kit/store';
import type { Page } from '@commonplace/proto/api/v1/page.js';
import type { ListMessagesRequest, ListMessagesResponse } from '@commonplace/proto/messaging/v1/message_service.js';
import { parseMessageQuery } from '../domain/message-terms.js';
import type { MessageRecord } from './message-records.js';
import type { ConversationParts } from './parts.js';
import type { MemberAccess } from './policy.js';
import { presentMessages } from './present.js';
import { matching } from './search.js';

const ASCENDING = ['seq'] as const satisfies Sort<MessageRecord>;
const DESCENDING = ['-seq'] as const satisfies Sort<MessageRecord>;

/** The messages that a request selects, before paging. */
interface Selection {
  readonly where: Where<MessageRecord>;
  /** Whether it selects all messages that the member can see. */
  readonly isWhole: boolean;
}

/** Returns a page of the messages that a member can see. */
export async function listMessages(
  parts: ConversationParts,
  request: ListMessagesRequest,
  access: MemberAccess,
  context: CallContext,
): Promise<ListMessagesResponse> {
  const given = [request.beforeSeq, request.afterSeq, request.aroundSeq].filter((seq) => seq !== undefined);
  if (given.length > 1) throw invalidField('after_seq', 'ambiguous_target', 'excludes before_seq and around_seq.');
  const slice = parsePageRequest(request.page);
  const selection = await select(parts, request, access);
  if (selection === undefined) return { items: [], page: { ...toPage(slice, 0, undefined), ...NOTHING_MORE } };
  const { items, page } =
    request.aroundSeq === undefined
      ? await pageFrom(parts, request, selection, slice, access)
      : await pageAround(parts, request.aroundSeq, selection, slice, access);
  return {
    items: await presentMessages(parts, items, context),
    page: await withEnds(parts, page, items, selection, request),
  };
}

async function select(
  { messages }: ConversationParts,
  { threadId, q }: ListMessagesRequest,
  { conversation, member }: MemberAccess,
): Promise<Selection | undefined> {
  const query = q === '' ? undefined : parseMessageQuery(q);
  if (q !== '' && query === undefined) return undefined;
  const conversationId = conversation.id;
  const visible = member.visibleFromSeq > 1 && { seq: { gte: member.visibleFromSeq } };
  const words = query === undefined ? {} : { and: [matching([conversationId], query)] };
  if (threadId === undefined) return { where: { conversationId, ...visible, ...words }, isWhole: query === undefined };
  // All messages of a thread are in one conversation. Naming it would have the store read all of the conversation, in the
  // order of its numbers, to find the few of the thread.
  const inThread: Where<MessageRecord> = { or: [{ id: threadId }, { threadId }] };
  const [one] = await messages.find({ where: inThread, anyOrder: true, limit: 1 });
  if (one?.conversationId !== conversationId) return undefined;
  return { where: { ...inThread, ...visible, ...words }, isWhole: false };
}

interface Found {
  readonly items: readonly MessageRecord[];
  readonly page: Page;
}

async function pageFrom(
  { messages }: ConversationParts,
  { beforeSeq, afterSeq }: ListMessagesRequest,
  selection: Selection,
  slice: Slice,
  access: MemberAccess,
): Promise<Found> {
  const sort = afterSeq === undefined ? DESCENDING : ASCENDING;
  const bounds = afterSeq === undefined ? { lt: beforeSeq } : { gt: afterSeq };
  const where: Where<MessageRecord> =
    beforeSeq === undefined && afterSeq === undefined
      ? selection.where
      : { and: [selection.where, { seq: bounds as { lt: number } }] };
  const { limit, offset, after } = slice;
  const [found, total] = await Promise.all([
    messages.find({ where, sort, limit: limit + 1, offset, ...(after && { after }) }),
    totalOf(messages, where, selection, access, beforeSeq, afterSeq),
  ]);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const next = found.length > limit && last !== undefined ? keyset<MessageRecord>(last, sort) : undefined;
  return { items, page: toPage(slice, total, next) };
}

/** Counts the messages of a list. Without filters it computes the total from message numbers instead of querying. */
function totalOf(
  messages: ConversationParts['messages'],
  where: Where<MessageRecord>,
  { isWhole }: Selection,
  { head, member }: MemberAccess,
  beforeSeq: number | undefined,
  afterSeq: number | undefined,
): Promise<Total> | number {
  if (!isWhole) return countTotal(messages, where);
  const first = Math.max(head.firstSeq, member.visibleFromSeq, (afterSeq ?? 0) + 1);
  const last = Math.min(head.lastSeq, (beforeSeq ?? Number.MAX_SAFE_INTEGER) - 1);
  return Math.max(0, last - first + 1);
}

async function pageAround(
  { messages }: ConversationParts,
  seq: number,
  selection: Selection,
  slice: Slice,
  access: MemberAccess,
): Promise<Found> {
  if (slice.offset > 0 || slice.after !== undefined) {
    throw invalidField('around_seq', 'invalid_pagination', 'does not go with offset or cursor.');
  }
  const before = Math.floor(slice.limit / 2);
  const [older, newer, total] = await Promise.all([
    before === 0
      ? []
      : messages.find({ where: { and: [selection.where, { seq: { lt: seq } }] }, sort: DESCENDING, limit: before }),
    messages.find({
      where: { and: [selection.where, { seq: { gte: seq } }] },
      sort: ASCENDING,
      limit: slice.limit - before,
    }),
    totalOf(messages, selection.where, selection, access, undefined, undefined),
  ]);
  return { items: [...older.reverse(), ...newer], page: toPage(slice, total, undefined) };
}

const NOTHING_MORE = { hasMoreBefore: false, hasMoreAfter: false };

/**
 * Adds to a page whether there are messages before and after it, and the lowest and highest number on it. An empty page
 * lies behind the end of its list, so all messages are on one side of it.
 */
async function withEnds(
  { messages }: ConversationParts,
  page: Page,
  items: readonly MessageRecord[],
  { where }: Selection,
  { afterSeq, aroundSeq }: ListMessagesRequest,
): Promise<Page> {
  if (items.length === 0) {
    const isAny = (await messages.count(where, 1)) > 0;
    const isAscending = afterSeq !== undefined || aroundSeq !== undefined;
    return { ...page, hasMoreBefore: isAny && isAscending, hasMoreAfter: isAny && !isAscending };
  }
  const seqs = items.map(({ seq }) => seq);
  const firstSeq = Math.min(...seqs);
  const lastSeq = Math.max(...seqs);
  const [before, after] = await Promise.all([
    messages.count({ and: [where, { seq: { lt: firstSeq } }] }, 1),
    messages.count({ and: [where, { seq: { gt: lastSeq } }] }, 1),
  ]);
  return { ...page, hasMoreBefore: before > 0, hasMoreAfter: after > 0, firstSeq, lastSeq };
}
