import { fingerprint } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/**
 * Links an identity provider's subject to a person. Its id is derived from issuer and subject, so that each pair
 * has one record.
 */
export interface IdentityRecord extends StoredRecord {
  readonly issuer: string;
  readonly subject: string;
  readonly userId: string;
  /** The address that the issuer has verified. */
  readonly verifiedEmail?: string;
  /** `iat` of the newest token for which open invitations were accepted; 0 before the first. */
  readonly signedInAt: number;
  readonly createdAt: string;
}

export const identityCollection: CollectionSpec<IdentityRecord> = {
  name: 'identities',
  indexes: [{ fields: ['userId'] }],
};

/** Maximum number of links to identity providers that are read at a time. */
const MAX_IDENTITIES = 1_000;

/** Returns the links of a person to identity providers. */
export function identitiesOf(identities: Collection<IdentityRecord>, userId: string): Promise<IdentityRecord[]> {
  return identities.find({ where: { userId }, limit: MAX_IDENTITIES });
}

export function identityIdOf(issuer: string, subject: string): string {
  return fingerprint('identity', issuer, subject);
}
