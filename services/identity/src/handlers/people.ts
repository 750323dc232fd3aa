import { invalidField } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import { emailKeyOf } from '../domain/address.js';
import { toUser } from '../domain/user.js';
import { usersByEmails } from '../stores/users.js';
import type { Parts } from './parts.js';

/** People asked for at once. */
const MAX_PEOPLE = 1000;

/** What other services ask about people. */
export function createPeopleHandlers({ users }: Parts): Pick<Handlers<AuthService>, 'findUsers'> {
  return {
    async findUsers({ ids, emails }) {
      if (ids.length + emails.length > MAX_PEOPLE) {
        throw invalidField('ids', 'too_many_items', `At most ${MAX_PEOPLE} people can be asked for at once.`);
      }
      const found = [...(await users.getMany(ids)), ...(await usersByEmails(users, emails.map(emailKeyOf)))];
      const unique = new Map(found.map((user) => [user.id, toUser(user)]));
      return { users: [...unique.values()] };
    },
  };
}
