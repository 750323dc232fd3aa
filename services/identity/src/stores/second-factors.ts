import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** The second factor of a person. Its id is the person's. */
export interface SecondFactorRecord extends StoredRecord {
  /** The authenticator app in use; absent if there is none. */
  readonly totp?: {
    /** The secret, encrypted for this record. */
    readonly secret: string;
    /** The 30-second step of the last accepted code. Codes of this and earlier steps are refused. */
    readonly lastStep: number;
    readonly addedAt: string;
  };
  /** A secret that was shown to the person, who has not confirmed it with a code yet. */
  readonly pending?: { readonly secret: string; readonly createdAt: string };
  /** Keyed hashes of the unused recovery codes. */
  readonly recoveryCodes: readonly string[];
}

export const secondFactorCollection: CollectionSpec<SecondFactorRecord> = { name: 'second_factors', indexes: [] };
