import { isOfOlderPeer, isPassing } from '@commonplace/kit/errors';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import { type OrgMember, OrgMemberStatus } from '@commonplace/proto/tenancy/v1/org.js';
import type { Parts } from '../parts.js';

/** Milliseconds that an answer waits for what it can do without. */
const TIMEOUT_MS = 1000;

type Asking = Pick<CallContext, 'onward'>;

/** Adds to an answer when active members of an Org were last active; nothing if identity does not answer. */
export async function addLastActive(
  { users }: Pick<Parts, 'users'>,
  orgId: string,
  members: readonly OrgMember[],
  context: Asking,
): Promise<void> {
  const active = members.filter(({ status }) => status === OrgMemberStatus.ACTIVE);
  const userIds = active.flatMap(({ user }) => user?.id ?? []);
  if (userIds.length === 0) return;
  const answer = await soonOrNothing(context, (call) => users.getActivity({ orgId, userIds }, call));
  const times = new Map(answer?.people.map(({ userId, lastActiveAt }) => [userId, lastActiveAt]));
  for (const member of active) member.lastActiveAt = times.get(member.user?.id ?? '');
}

/** A person in an answer; one without an id is not shown. */
interface ShownPerson {
  readonly id?: string | undefined;
  avatarUrl?: string | undefined;
}

/** Adds the avatars of people to an answer; nothing if identity does not answer. */
export async function addAvatars(
  { users }: Pick<Parts, 'users'>,
  people: readonly (ShownPerson | undefined)[],
  context: Asking,
): Promise<void> {
  const shown = people.filter((person) => person?.id !== undefined) as (ShownPerson & { readonly id: string })[];
  if (shown.length === 0) return;
  const ids = shown.map(({ id }) => id);
  const answer = await soonOrNothing(context, (call) => users.findUsers({ ids, emails: [] }, call));
  const avatars = new Map(answer?.users.map(({ id, avatarUrl }) => [id, avatarUrl]));
  for (const person of shown) person.avatarUrl = avatars.get(person.id);
}

/** Returns the answer to a call, or undefined if it does not come soon. */
function soonOrNothing<T>({ onward }: Asking, ask: (call: CallOptions) => Promise<T>): Promise<T | undefined> {
  return ask({ ...onward, deadline: Math.min(onward.deadline, Date.now() + TIMEOUT_MS) }).catch((error: unknown) => {
    if (isPassing(error) || isOfOlderPeer(error)) return undefined;
    throw error;
  });
}
