import { foldEmail } from '@commonplace/kit/words';
import type { User } from '@commonplace/proto/identity/v1/user.js';

/** A person with an account. */
export interface Person {
  /** The address as it was typed. */
  readonly email: string;
  /** The normalized address, for comparison. */
  readonly emailKey: string;
  /** Whether the operator, an issuer or a verification link has confirmed the address. */
  readonly emailVerified: boolean;
  readonly name: string;
  readonly avatarUrl?: string;
  readonly locale: string;
  readonly timezone: string;
  /** Argon2id hash in PHC format; absent for people who only sign in with an identity provider. */
  readonly passwordHash?: string;
  /** Incremented with each new password and operator reset: sessions of another epoch are invalid. 0 when absent. */
  readonly credentialEpoch?: number;
  /** Set while the password is a generated one, which opens one session before `expiresAt`. */
  readonly temporaryPassword?: { readonly expiresAt: string; readonly used: boolean };
  /** When the operator disabled the account, whose sign-ins and credentials are refused. */
  readonly disabledAt?: string;
  /** Whether their default Personal workspace is known to exist. */
  readonly home: boolean;
  readonly createdAt: string;
}

interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly now: number;
  readonly passwordHash?: string;
}

/** Returns a new person with an unverified address. */
export function newUser({ id, email, name, now, passwordHash }: NewUser): Person & { readonly id: string } {
  return {
    id,
    email: email.trim(),
    emailKey: foldEmail(email),
    emailVerified: false,
    name,
    locale: 'en',
    timezone: 'UTC',
    ...(passwordHash === undefined ? {} : { passwordHash }),
    home: false,
    createdAt: new Date(now).toISOString(),
  };
}

/** Returns a person as others see them. */
export function toUser({ id, name, email, avatarUrl, locale, timezone }: Person & { readonly id: string }): User {
  return { id, name, email, avatarUrl, locale, timezone };
}
