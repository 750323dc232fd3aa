import type { User } from '@commonplace/proto/identity/v1/user.js';
import type { UserRecord } from '../stores/users.js';
import { emailKeyOf } from './address.js';

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly now: number;
  readonly passwordHash?: string;
}

/** A person with nothing but an address and a name; the address is not verified. */
export function newUser({ id, email, name, now, passwordHash }: NewUser): Omit<UserRecord, 'version'> {
  return {
    id,
    email: email.trim(),
    emailKey: emailKeyOf(email),
    emailVerified: false,
    name,
    locale: 'en',
    timezone: 'UTC',
    ...(passwordHash === undefined ? {} : { passwordHash }),
    home: false,
    createdAt: new Date(now).toISOString(),
  };
}

/** A person as others see them. */
export function toUser({ id, name, email, avatarUrl, locale, timezone }: UserRecord): User {
  return { id, name, email, avatarUrl, locale, timezone };
}
