import type { Log } from '@commonplace/kit/log';
import { type Envelope, SecretUnreadable } from '@commonplace/kit/secrets';
import { type Collection, keyset, LostRace, type Store, type StoredRecord } from '@commonplace/kit/store';
import { authorizationCollection, connectionCollection, connectorCollection } from '../stores/connectors.js';

const CHUNK = 100;

interface Sealed extends StoredRecord {
  readonly tenant: string;
  readonly sealed?: string;
}

export interface SecretParts {
  readonly store: Store;
  readonly envelope: Envelope;
  readonly log: Log;
}

/** What has become of the secrets that are stored. */
export interface Rewrapped {
  /** Put under the current master key. */
  readonly rewrapped: number;
  /** Under it already, or put there by somebody else at this moment. */
  readonly current: number;
  /** Records whose secret does not open; they stay as they are. */
  readonly unreadable: readonly string[];
}

/**
 * Puts every secret under the current master key, so that an older one can be taken out of the settings. What was done
 * before it is cut off is done.
 */
export async function rewrapSecrets(parts: SecretParts, each: () => void = () => {}): Promise<Rewrapped> {
  const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
  for (const spec of [connectorCollection, connectionCollection, authorizationCollection]) {
    const collection = (await parts.store.collection<Sealed>(spec as never)) as Collection<Sealed>;
    for await (const record of withSecret(collection)) {
      const outcome = await rewrap(parts, collection, record);
      if (outcome === 'unreadable') sum.unreadable.push(record.id);
      else sum[outcome]++;
      each();
    }
  }
  return sum;
}

async function* withSecret(collection: Collection<Sealed>): AsyncIterable<Sealed & { sealed: string }> {
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
  collection: Collection<Sealed>,
  record: Sealed & { sealed: string },
): Promise<'rewrapped' | 'current' | 'unreadable'> {
  const { id, tenant, sealed } = record;
  try {
    if (envelope.isCurrent(sealed)) return 'current';
    const work = store.begin();
    work.replace(collection, record, { ...record, sealed: envelope.rewrap(sealed, { tenant, record: id }) });
    await work.commit();
    return 'rewrapped';
  } catch (error) {
    // Whoever was faster has written under the current key; what does not open is told of and left as it is.
    if (error instanceof LostRace) return 'current';
    if (!(error instanceof SecretUnreadable)) throw error;
    log.error('secret.unreadable', { record: id, error });
    return 'unreadable';
  }
}
