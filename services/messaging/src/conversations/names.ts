import type { CallContext } from '@commonplace/kit/rpc';
import type { ConversationParts } from './parts.js';

const CHUNK = 200;

/** Returns the current names of people; people without an account are left out. */
export async function namesOf(
  { users }: Pick<ConversationParts, 'users'>,
  ids: readonly string[],
  { onward }: Pick<CallContext, 'onward'>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  const unique = [...new Set(ids)];
  for (let at = 0; at < unique.length; at += CHUNK) {
    const { users: found } = await users.findUsers({ ids: unique.slice(at, at + CHUNK), emails: [] }, onward);
    for (const { id, name } of found) names.set(id, name);
  }
  return names;
}
