import { randomBytes } from 'node:crypto';
import { fingerprint } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import { keyedHash } from '../domain/keyed-hash.js';

type TokenPurpose = 'password_reset' | 'email_verification' | 'passkey_registration' | 'passkey_sign_in';

/**
 * A token for one purpose that can be used once. Its id is the keyed hash of the token. Passkey challenges are
 * signed instead: only used ones are recorded, until they would have expired.
 */
interface OneTimeTokenRecord extends StoredRecord {
  readonly purpose: TokenPurpose;
  /** Empty for a token without a person. */
  readonly userId: string;
  /** The address that the token was sent to. */
  readonly email?: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export const oneTimeTokenCollection: CollectionSpec<OneTimeTokenRecord> = {
  name: 'one_time_tokens',
  indexes: [{ fields: ['expiresAt'] }, { fields: ['userId'] }],
  expires: 'expiresAt',
};

export interface OneTimeTokens {
  /** Adds a token to a unit of work and returns it. Only its hash is stored. */
  issue(
    work: UnitOfWork,
    token: Pick<OneTimeTokenRecord, 'purpose' | 'userId' | 'email'> & { readonly lifetimeMs: number },
  ): string;
  /** Returns the record of a valid token of that purpose; undefined otherwise. */
  find(work: UnitOfWork, purpose: TokenPurpose, token: string): Promise<OneTimeTokenRecord | undefined>;
  /** Deletes a person's tokens of the given purposes. */
  revoke(work: UnitOfWork, userId: string, purposes: readonly TokenPurpose[]): Promise<void>;
  /** Records that a signed challenge was used. Resolves to false if it was already used. */
  useChallenge(
    work: UnitOfWork,
    challenge: Pick<OneTimeTokenRecord, 'purpose' | 'userId' | 'expiresAt'> & { readonly text: string },
  ): Promise<boolean>;
  /** Deletes a used token. */
  spend(work: UnitOfWork, record: OneTimeTokenRecord): void;
}

const MAX_TOKENS = 1000;

/** Creates the token store. `keys` lists the current key first. */
export function createOneTimeTokens(
  records: Collection<OneTimeTokenRecord>,
  keys: readonly Buffer[],
  now: () => number,
): OneTimeTokens {
  return {
    issue(work, { purpose, userId, email, lifetimeMs }) {
      const token = randomBytes(32).toString('base64url');
      work.insert(records, {
        id: keyedHash(keys[0] as Buffer, token),
        purpose,
        userId,
        ...(email === undefined ? {} : { email }),
        createdAt: new Date(now()).toISOString(),
        expiresAt: new Date(now() + lifetimeMs).toISOString(),
      });
      return token;
    },
    async find(work, purpose, token) {
      for (const key of keys) {
        const record = await work.get(records, keyedHash(key, token));
        if (record?.purpose === purpose && Date.parse(record.expiresAt) > now()) return record;
      }
      return undefined;
    },
    async revoke(work, userId, purposes) {
      const found = await records.find({ where: { userId }, limit: MAX_TOKENS });
      for (const record of found) if (purposes.includes(record.purpose)) work.remove(records, record);
    },
    async useChallenge(work, { text, ...kept }) {
      // The hash has no key, so that processes with different current keys agree on it.
      const id = fingerprint('challenge', text);
      if ((await work.get(records, id)) !== undefined) return false;
      work.insert(records, { id, ...kept, createdAt: new Date(now()).toISOString() });
      return true;
    },
    spend: (work, record) => work.remove(records, record),
  };
}
