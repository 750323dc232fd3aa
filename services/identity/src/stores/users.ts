import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Person } from '../domain/user.js';

/** The stored record of a person with an account. */
export interface UserRecord extends StoredRecord, Person {}

export const userCollection: CollectionSpec<UserRecord> = {
  name: 'users',
  indexes: [{ fields: ['emailKey'], unique: true }],
};

export function userByEmail(users: Collection<UserRecord>, emailKey: string): Promise<UserRecord | undefined> {
  return users.find({ where: { emailKey }, limit: 1 }).then(([user]) => user);
}

/** Returns a person; undefined if there is none, or if the operator has disabled their account. */
export async function activeUser(
  users: Pick<Collection<UserRecord>, 'get'>,
  id: string,
): Promise<UserRecord | undefined> {
  const user = await users.get(id);
  return user?.disabledAt === undefined ? user : undefined;
}

export function usersByEmails(users: Collection<UserRecord>, emailKeys: readonly string[]): Promise<UserRecord[]> {
  if (emailKeys.length === 0) return Promise.resolve([]);
  return users.find({ where: { emailKey: { in: emailKeys } }, limit: emailKeys.length });
}

export async function hasUsers(users: Collection<UserRecord>): Promise<boolean> {
  return (await users.find({ where: {}, limit: 1 })).length > 0;
}
