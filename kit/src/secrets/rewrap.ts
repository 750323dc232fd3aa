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
  /** Number of secrets that this run has re-encrypted with the current master key. */
  readonly rewrapped: number;
  /** Number of secrets that used the current key already, or that another process has rewritten concurrently. */
  readonly current: number;
  /** Ids of records whose secret cannot be decrypted; they are left unchanged. */
  readonly unreadable: readonly string[];
}

/** A field of a collection that holds an encrypted text. */
export interface SealedField<T extends StoredRecord> {
  readonly spec: CollectionSpec<T>;
  /** Returns the encrypted text; undefined if the record has none that is still needed. */
  sealedOf(record: T): string | undefined;
  ownerOf(record: T): SecretOwner;
  withSealed(record: T, sealed: string): T;
}

/** Re-encrypts one field of all records. Calls `each` after every record that has it. */
export type Rewrap = (parts: RewrapParts, each: () => void) => Promise<Rewrapped>;

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

/** Returns the re-encryption of a field. Records are committed one by one: an interrupted run keeps what it has done. */
export function rewrapField<T extends StoredRecord>(field: SealedField<T>): Rewrap {
  return async (parts, each) => {
    const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
    const collection = await parts.store.collection(field.spec);
    for await (const { record, sealed } of allSealed(collection, field)) {
      const outcome = await rewrapRecord(parts, collection, field, record, sealed);
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

async function* allSealed<T extends StoredRecord>(
  collection: Collection<T>,
  { sealedOf }: SealedField<T>,
): AsyncIterable<{ readonly record: T; readonly sealed: string }> {
  for await (const record of findEach(collection, { where: {} }, CHUNK)) {
    const sealed = sealedOf(record);
    if (sealed !== undefined) yield { record, sealed };
  }
}

async function rewrapRecord<T extends StoredRecord>(
  { store, envelope, log }: RewrapParts,
  collection: Collection<T>,
  { ownerOf, withSealed }: SealedField<T>,
  record: T,
  sealed: string,
): Promise<'rewrapped' | 'current' | 'unreadable'> {
  try {
    if (envelope.isCurrent(sealed)) return 'current';
    const work = store.begin();
    work.replace(collection, record, withSealed(record, envelope.rewrap(sealed, ownerOf(record))));
    await work.commit();
    return 'rewrapped';
  } catch (error) {
    // A concurrent writer has used the current key. A secret that cannot be decrypted is logged and left unchanged.
    if (error instanceof LostRace) return 'current';
    if (!(error instanceof SecretUnreadable)) throw error;
    log.error('secret.unreadable', { record: record.id, error });
    return 'unreadable';
  }
}
