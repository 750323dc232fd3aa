import { authorOf, reachesPlace } from '@commonplace/kit/auth';
import { callerMemberships, type PersonMemberships } from '@commonplace/platform/memberships';
import type { AccessibleConversation } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import { namesOf } from './names.js';
import type { ConversationParts } from './parts.js';
import { type Asking, seesConversation } from './policy.js';
import { type ConversationRecord, memberId } from './records.js';

type AccessibleParts = Pick<ConversationParts, 'conversations' | 'members' | 'memberships' | 'users'>;
type Reading = Pick<Asking, 'caller' | 'onward'>;

/** Returns those of the given conversations that the caller, and the author who limits the call, can read. */
export async function accessibleConversations(
  parts: AccessibleParts,
  ids: readonly string[],
  { caller, onward }: Reading,
): Promise<AccessibleConversation[]> {
  const found = await parts.conversations.getMany([...new Set(ids)]);
  const author = authorOf(caller);
  const shared = author === undefined ? found : await readableAmong(parts, found, { caller: author, onward });
  const readable = await readableAmong(parts, shared, { caller, onward });
  const others = new Map(readable.map(({ id, pair }) => [id, pair?.find((one) => one !== caller.userId)]));
  const names = await namesOf(
    parts,
    [...others.values()].flatMap((one) => one ?? []),
    { onward },
  );
  return readable.map(({ id, name, icon, workspaceId = '' }) => ({
    ...{ id, icon, workspaceId },
    name: name ?? names.get(others.get(id) ?? '') ?? '',
  }));
}

async function readableAmong(
  parts: AccessibleParts,
  conversations: readonly ConversationRecord[],
  context: Reading,
): Promise<ConversationRecord[]> {
  const { caller } = context;
  const reached = conversations.filter((conversation) => reachesPlace(caller, conversation));
  if (reached.length === 0) return [];
  const members = await parts.members.getMany(reached.map(({ id }) => memberId(id, caller.userId)));
  const mine = new Set(members.filter(({ isActive }) => isActive).map(({ conversationId }) => conversationId));
  const sees = (person: PersonMemberships, one: ConversationRecord) => seesConversation(person, one, mine.has(one.id));
  const person = await callerMemberships(parts.memberships, context, (known) =>
    reached.every((one) => sees(known, one)),
  );
  return reached.filter((one) => sees(person, one));
}
