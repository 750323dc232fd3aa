import { fingerprint } from '@commonplace/kit/id';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** A person as an identity provider knows them. Its id is made of issuer and subject: one pair, one person. */
export interface IdentityRecord extends StoredRecord {
  readonly issuer: string;
  readonly subject: string;
  readonly userId: string;
  /** The address that the issuer has vouched for. */
  readonly verifiedEmail?: string;
  /** `iat` of the newest token for which open invitations were joined; 0 before the first. */
  readonly signedInAt: number;
  readonly createdAt: string;
}

export const identityCollection: CollectionSpec<IdentityRecord> = { name: 'identities', indexes: [] };

export function identityIdOf(issuer: string, subject: string): string {
  return fingerprint('identity', issuer, subject);
}
