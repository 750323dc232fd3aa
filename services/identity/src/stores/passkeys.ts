import { fingerprint } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** A person's passkey. Its id is derived from the credential's, so that each credential has one record. */
export interface PasskeyRecord extends StoredRecord {
  readonly userId: string;
  /** Base64url, as browsers encode it. */
  readonly credentialId: string;
  /** The COSE public key in base64url. */
  readonly publicKey: string;
  /** The signature counter at the last sign-in; 0 for authenticators that do not count. */
  readonly counter: number;
  readonly transports: readonly string[];
  /** Whether the passkey is synced between the person's devices. */
  readonly synced: boolean;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt?: string;
}

export const passkeyCollection: CollectionSpec<PasskeyRecord> = {
  name: 'passkeys',
  indexes: [{ fields: ['userId', 'createdAt'] }],
};

/** Upper bound of the setting for passkeys per person, and so the maximum that a person can have. */
export const MAX_PASSKEYS = 100;

export function passkeyIdOf(credentialId: string): string {
  return fingerprint('passkey', credentialId);
}

/** Returns a person's passkeys, the newest first. */
export function passkeysOf(passkeys: Collection<PasskeyRecord>, userId: string): Promise<PasskeyRecord[]> {
  return passkeys.find({ where: { userId }, sort: ['-createdAt'], limit: MAX_PASSKEYS });
}
