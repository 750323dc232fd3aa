import { invalidField } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { Activity } from '../activity.js';
import { toUser } from '../domain/user.js';
import { type UserRecord, usersByEmails } from '../stores/users.js';

export interface PeopleLookupParts {
  readonly users: Collection<UserRecord>;
  readonly activity: Pick<Activity, 'in'>;
}

/** Maximum number of people in one request. */
const MAX_PEOPLE = 1000;

/** Creates the handlers by which other services look up people. */
export function createPeopleHandlers({
  users,
  activity,
}: PeopleLookupParts): Pick<Handlers<AuthService>, 'findUsers' | 'getMailAddresses' | 'getActivity'> {
  return {
    async findUsers({ ids, emails, activeOnly = false }) {
      if (ids.length + emails.length > MAX_PEOPLE) {
        throw invalidField('ids', 'too_many_items', `At most ${MAX_PEOPLE} people can be looked up at once.`);
      }
      const found = [...(await users.getMany(ids)), ...(await usersByEmails(users, emails.map(foldEmail)))];
      const wanted = activeOnly ? found.filter(({ disabledAt }) => disabledAt === undefined) : found;
      const unique = new Map(wanted.map((user) => [user.id, toUser(user)]));
      return { users: [...unique.values()] };
    },

    async getMailAddresses({ userIds }) {
      requireFew(userIds);
      const verified = (await users.getMany(userIds)).filter(({ emailVerified }) => emailVerified);
      return { addresses: verified.map(({ id: userId, name, email }) => ({ userId, name, email })) };
    },

    async getActivity({ orgId, userIds }) {
      requireFew(userIds);
      const times = await activity.in(orgId, userIds);
      return { people: [...times].map(([userId, lastActiveAt]) => ({ userId, lastActiveAt })) };
    },
  };
}

function requireFew(userIds: readonly string[]): void {
  if (userIds.length <= MAX_PEOPLE) return;
  throw invalidField('user_ids', 'too_many_items', `At most ${MAX_PEOPLE} people can be looked up at once.`);
}
