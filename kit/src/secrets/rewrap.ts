import type { Log } from '../log/index.js';
import {
  type Collection,
  type CollectionSpec,
  findEach,
  LostRace,
  type Store,
  type StoredRecord,
} from '../store/index.js';
import { type Envelope, type SecretOwner, SecretUnreadable } from './envelope.js';

const CHUNK = 100;

/** Dependencies for re-encrypting the stored secrets of one service. */
export interface RewrapParts {
  readonly store: Store;
  readonly envelope: Envelope;
  readonly log: Log;
}

/** The result of re-encrypting stored secrets. */
export interface Rewrapped {
  /**
   * Number of records that this run has re-encrypted with the current master key, or that were changed by others
   * meanwhile, so that they have to be checked again.
   */
  readonly rewrapped: number;
  /** Number of records that used the current key already. */
  readonly current: number;
  /** Ids of records with a secret that cannot be decrypted; they are left unchanged. */
  readonly unreadable: readonly string[];
}

/** The encrypted texts in the records of a collection. */
interface SealedRecords<T extends StoredRecord, P extends RewrapParts> {
  readonly spec: CollectionSpec<T>;
  /** Returns the encrypted texts of a record that are still needed. */
  sealedIn(record: T): readonly string[];
  /** Returns a record with all of its texts encrypted with the current key. */
  renew(record: T, parts: P): T;
}

/** A field of a collection that holds an encrypted text. */
interface SealedField<T extends StoredRecord> {
  readonly spec: CollectionSpec<T>;
  /** Returns the encrypted text; undefined if the record has none that is still needed. */
  sealedOf(record: T): string | undefined;
  ownerOf(record: T): SecretOwner;
  withSealed(record: T, sealed: string): T;
}

/** Re-encrypts the secrets of all records. Calls `each` after every record that has one. */
export type Rewrap<P extends RewrapParts = RewrapParts> = (parts: P, each?: () => void) => Promise<Rewrapped>;

/** Returns the re-encryption of the field `sealed` of records that are the owners of their secrets. */
export function rewrapSealed<
  T extends StoredRecord & { readonly tenant: string; readonly sealed?: string | undefined },
>(spec: CollectionSpec<T>): Rewrap {
  return rewrapField({
    spec,
    sealedOf: ({ sealed }) => sealed,
    ownerOf: ({ id, tenant }) => ({ tenant, record: id }),
    withSealed: (record, sealed) => ({ ...record, sealed }),
  });
}

/** Returns the re-encryption of one field. */
export function rewrapField<T extends StoredRecord>({ spec, sealedOf, ownerOf, withSealed }: SealedField<T>): Rewrap {
  return rewrapRecords({
    spec,
    sealedIn(record) {
      const sealed = sealedOf(record);
      return sealed === undefined ? [] : [sealed];
    },
    renew: (record, { envelope }) => withSealed(record, envelope.rewrap(sealedOf(record) as string, ownerOf(record))),
  });
}

/**
 * Returns the re-encryption of records, so that a former master key can be removed from the settings. Records are
 * committed one by one: an interrupted run keeps what it has done.
 */
export function rewrapRecords<T extends StoredRecord, P extends RewrapParts>(secrets: SealedRecords<T, P>): Rewrap<P> {
  return async (parts, each = () => {}) => {
    const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
    const collection = await parts.store.collection(secrets.spec);
    for await (const record of findEach(collection, { where: {} }, CHUNK)) {
      if (secrets.sealedIn(record).length === 0) continue;
      const outcome = await rewrapRecord(parts, collection, secrets, record);
      if (outcome === 'unreadable') sum.unreadable.push(record.id);
      else sum[outcome]++;
      each();
    }
    return sum;
  };
}

/** Runs several re-encryptions one after the other. Returns their sum. */
export async function rewrapEach(
  rewraps: readonly Rewrap[],
  parts: RewrapParts,
  each: () => void = () => {},
): Promise<Rewrapped> {
  const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
  for (const rewrap of rewraps) {
    const { rewrapped, current, unreadable } = await rewrap(parts, each);
    sum.rewrapped += rewrapped;
    sum.current += current;
    sum.unreadable.push(...unreadable);
  }
  return sum;
}

async function rewrapRecord<T extends StoredRecord, P extends RewrapParts>(
  parts: P,
  collection: Collection<T>,
  { sealedIn, renew }: SealedRecords<T, P>,
  record: T,
): Promise<'rewrapped' | 'current' | 'unreadable'> {
  const { store, envelope, log } = parts;
  try {
    if (sealedIn(record).every((sealed) => envelope.isCurrent(sealed))) return 'current';
    const work = store.begin();
    work.replace(collection, record, renew(record, parts));
    await work.commit();
    return 'rewrapped';
  } catch (error) {
    // Another writer may have changed only other fields, so the next pass checks the record.
    if (error instanceof LostRace) return 'rewrapped';
    // A secret that cannot be decrypted is logged and left unchanged.
    if (!(error instanceof SecretUnreadable)) throw error;
    log.error('secret.unreadable', { record: record.id, error });
    return 'unreadable';
  }
}
