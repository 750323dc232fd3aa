import { isOfOlderPeer, isPassing } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';
import type { OrgMember } from '../stores/org-members.js';

/** Milliseconds that an answer waits for these times. */
const TIMEOUT_MS = 1000;

/** Returns when active members of an Org were last active, by their user ids; nothing if identity does not answer. */
export async function lastActiveOf(
  { users }: Pick<Parts, 'users'>,
  orgId: string,
  members: readonly OrgMember[],
  { onward }: Pick<CallContext, 'onward'>,
): Promise<ReadonlyMap<string, string | undefined>> {
  const userIds = members.flatMap(({ status, userId }) => (status === 'active' && userId !== undefined ? userId : []));
  if (userIds.length === 0) return new Map();
  const call = { ...onward, deadline: Math.min(onward.deadline, Date.now() + TIMEOUT_MS) };
  const { people } = await users.getActivity({ orgId, userIds }, call).catch((error: unknown) => {
    if (isPassing(error) || isOfOlderPeer(error)) return { people: [] };
    throw error;
  });
  return new Map(people.map(({ userId, lastActiveAt }) => [userId, lastActiveAt]));
}
