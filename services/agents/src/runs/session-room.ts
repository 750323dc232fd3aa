import type { UnitOfWork } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import type { MessageRecord, SessionRecord } from '../stores/sessions.js';

/**
 * Makes room for new messages of a session, in the unit of work that adds them: replaced messages are erased, the oldest
 * first, as far as the session would have too many otherwise. `replaced` contains those that the same unit of work
 * replaces, as it leaves them. Returns false if the session has no room, and erases none then.
 */
export async function makeRoom(
  { messages, settings }: Pick<Parts, 'messages' | 'settings'>,
  { id: sessionId, lastSeq }: Pick<SessionRecord, 'id' | 'lastSeq'>,
  added: number,
  work: UnitOfWork,
  replaced: readonly MessageRecord[] = [],
): Promise<boolean> {
  const limit = settings.chatMessages;
  // Numbers are not used twice, so there are at most as many messages as numbers.
  if (lastSeq + added <= limit) return true;
  const excess = (await messages.count({ sessionId })) + added - limit;
  if (excess <= 0) return true;
  const where = { sessionId, supersededBy: { exists: true } };
  const before = await messages.find({ where, sort: ['seq'], limit: excess });
  const erased = [...before, ...replaced].slice(0, excess);
  if (erased.length < excess) return false;
  for (const message of erased) work.remove(messages, message);
  return true;
}
