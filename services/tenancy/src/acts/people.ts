import { AppError, invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { foldEmail } from '@commonplace/kit/words';
import type { Person } from '../domain/person.js';
import type { Parts } from '../parts.js';

/** Returns a registered person by id. Throws NotFound if there is none. */
export async function personById({ users }: Parts, context: CallContext, userId: string): Promise<Person> {
  const { users: found } = await users.findUsers({ ids: [userId], emails: [] }, context.onward);
  const [user] = found;
  if (user === undefined) throw noSuchPerson();
  return { userId: user.id, name: user.name, email: user.email };
}

export function noSuchPerson(): AppError {
  const message = 'There is no such person here.';
  return new AppError('NOT_FOUND', 'not_found', message, { param: 'user_id' });
}

/** Returns the registered person with that address, if any. */
export async function personByEmail(
  { users }: Parts,
  context: CallContext,
  email: string,
): Promise<Person | undefined> {
  const { users: found } = await users.findUsers({ ids: [], emails: [foldEmail(email)] }, context.onward);
  const [user] = found;
  return user && { userId: user.id, name: user.name, email: user.email };
}

/**
 * Returns the only given field of several that identify whom a request is about. Throws unless exactly one is
 * given.
 */
export function requireOneOf<T extends Record<string, string | undefined>>(fields: T): keyof T & string {
  const given = Object.keys(fields).filter((name) => fields[name] !== undefined);
  const names = Object.keys(fields).join(', ');
  const [name] = given;
  if (name === undefined) {
    throw invalidField(Object.keys(fields)[0] as string, 'missing_field', `is required: send one of ${names}.`);
  }
  if (given.length > 1)
    throw invalidField(
      given[1] as string,
      'invalid_value',
      `must not be combined with another field: send one of ${names}.`,
    );
  return name;
}
