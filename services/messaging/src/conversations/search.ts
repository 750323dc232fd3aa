import type { Breathe } from '@commonplace/kit/slices';
import type { Collection, Where } from '@commonplace/kit/store';
import { type MessageQuery, type MessageTerms, termsOf } from '../domain/message-terms.js';
import type { MessageRecord } from './message-records.js';
import type { MemberRecord } from './records.js';

/** Number of characters of the conversation's id in a term. */
const KEY_LENGTH = 12;

/**
 * Returns the form in which a term is stored. It is prefixed by a part of the conversation's id, so that a search reads
 * only messages of the caller's conversations.
 */
function termKey(conversationId: string, term: string): string {
  return `${conversationId.slice(-KEY_LENGTH)}:${term}`;
}

export function searchFields(conversationId: string, text: string): Pick<MessageRecord, 'terms' | 'folded'> {
  const { terms, folded }: MessageTerms = termsOf(text);
  return {
    ...(terms.length > 0 && { terms: terms.map((term) => termKey(conversationId, term)) }),
    ...(folded !== undefined && { folded }),
  };
}

/** Returns the filter for the messages of conversations that contain all words of a query. */
export function matching(conversationIds: readonly string[], query: MessageQuery): Where<MessageRecord> {
  const [only] = conversationIds;
  return {
    conversationId: conversationIds.length === 1 ? (only as string) : { in: conversationIds },
    and: [
      ...query.terms.map((term) => ({
        terms: { containsAny: conversationIds.map((conversationId) => termKey(conversationId, term)) },
      })),
      ...query.runs.map((run) => ({ folded: { substring: run } })),
    ],
  };
}

/** Number of conversations that one query searches. */
const CHUNK = 500;

/** Returns the conversations in which a member can see a message that contains all words of a query. */
export async function conversationsWith(
  messages: Collection<MessageRecord>,
  memberships: readonly MemberRecord[],
  query: MessageQuery,
  breathe: Breathe,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let at = 0; at < memberships.length; at += CHUNK) {
    const some = memberships.slice(at, at + CHUNK);
    const counts = await messages.countBy(
      'conversationId',
      matching(
        some.map(({ conversationId }) => conversationId),
        query,
      ),
    );
    for (const { conversationId, visibleFromSeq } of some) {
      if (!counts.has(conversationId)) continue;
      if (visibleFromSeq > 1) {
        const where = { ...matching([conversationId], query), seq: { gte: visibleFromSeq } };
        if ((await messages.count(where, 1)) === 0) continue;
      }
      found.add(conversationId);
      await breathe();
    }
    await breathe();
  }
  return found;
}
