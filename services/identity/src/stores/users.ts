import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** A person with an account. */
export interface UserRecord extends StoredRecord {
  /** As it was typed. */
  readonly email: string;
  /** What addresses are compared by. */
  readonly emailKey: string;
  /** Whether somebody who can know has vouched that the address is theirs: the operator or an issuer. */
  readonly emailVerified: boolean;
  readonly name: string;
  readonly avatarUrl?: string;
  readonly locale: string;
  readonly timezone: string;
  /** Argon2id in PHC form; absent for people who sign in with an identity provider only. */
  readonly passwordHash?: string;
  /** Whether their default Personal workspace is known to be there. */
  readonly home: boolean;
  readonly createdAt: string;
}

export const userCollection: CollectionSpec<UserRecord> = {
  name: 'users',
  indexes: [{ fields: ['emailKey'], unique: true }],
};

export function userByEmail(users: Collection<UserRecord>, emailKey: string): Promise<UserRecord | undefined> {
  return users.find({ where: { emailKey }, limit: 1 }).then(([user]) => user);
}

export function usersByEmails(users: Collection<UserRecord>, emailKeys: readonly string[]): Promise<UserRecord[]> {
  if (emailKeys.length === 0) return Promise.resolve([]);
  return users.find({ where: { emailKey: { in: emailKeys } }, limit: emailKeys.length });
}

export async function isAnybodyThere(users: Collection<UserRecord>): Promise<boolean> {
  return (await users.find({ where: {}, limit: 1 })).length > 0;
}
