import type { Log } from '@commonplace/kit/log';
import { type Envelope, SecretUnreadable } from '@commonplace/kit/secrets';
import { type Collection, keyset, LostRace, type Store, type StoredRecord } from '@commonplace/kit/store';
import { authorizationCollection, connectionCollection, connectorCollection } from '../stores/connectors.js';

const CHUNK = 100;

interface SecretRecord extends StoredRecord {
  readonly tenant: string;
  readonly sealed?: string;
}

export interface SecretParts {
  readonly store: Store;
  readonly envelope: Envelope;
  readonly log: Log;
}

/** The result of re-encrypting the stored secrets. */
export interface Rewrapped {
  /** Number of secrets that this run has re-encrypted with the current master key. */
  readonly rewrapped: number;
  /** Number of secrets that used the current key already, or that another process has rewritten concurrently. */
  readonly current: number;
  /** Ids of records whose secret cannot be decrypted; they are left unchanged. */
  readonly unreadable: readonly string[];
}

/**
 * Re-encrypts every secret with the current master key, so that older keys can be removed from the settings.
 * Records are committed one by one: an interrupted run keeps what it has done. Calls `each` after every record.
 */
export async function rewrapSecrets(parts: SecretParts, each: () => void = () => {}): Promise<Rewrapped> {
  const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
  for (const spec of [connectorCollection, connectionCollection, authorizationCollection]) {
    const collection = (await parts.store.collection<SecretRecord>(spec as never)) as Collection<SecretRecord>;
    for await (const record of withSecret(collection)) {
      const outcome = await rewrap(parts, collection, record);
      if (outcome === 'unreadable') sum.unreadable.push(record.id);
      else sum[outcome]++;
      each();
    }
  }
  return sum;
}

async function* withSecret(collection: Collection<SecretRecord>): AsyncIterable<SecretRecord & { sealed: string }> {
  let after: ReturnType<typeof keyset> | undefined;
  for (;;) {
    const chunk = await collection.find({ where: {}, limit: CHUNK, ...(after && { after }) });
    for (const record of chunk) if (record.sealed !== undefined) yield { ...record, sealed: record.sealed };
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < CHUNK) return;
    after = keyset(last);
  }
}

async function rewrap(
  { store, envelope, log }: SecretParts,
  collection: Collection<SecretRecord>,
  record: SecretRecord & { sealed: string },
): Promise<'rewrapped' | 'current' | 'unreadable'> {
  const { id, tenant, sealed } = record;
  try {
    if (envelope.isCurrent(sealed)) return 'current';
    const work = store.begin();
    work.replace(collection, record, { ...record, sealed: envelope.rewrap(sealed, { tenant, record: id }) });
    await work.commit();
    return 'rewrapped';
  } catch (error) {
    // A concurrent writer has used the current key. A secret that cannot be decrypted is logged and left unchanged.
    if (error instanceof LostRace) return 'current';
    if (!(error instanceof SecretUnreadable)) throw error;
    log.error('secret.unreadable', { record: id, error });
    return 'unreadable';
  }
}
