import { SecretUnreadable } from '@commonplace/kit/secrets';
import { type Collection, keyset, LostRace, type StoredRecord } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';

const CHUNK = 100;

interface Sealed extends StoredRecord {
  readonly tenant: string;
  readonly sealed?: string;
}

/** Puts every secret under the current master key, so that an older one can be taken out of the settings. Gives how many. */
export async function rewrapSecrets(parts: Parts): Promise<number> {
  const { records, connections } = parts.connectors;
  return (await rewrapAll(parts, records)) + (await rewrapAll(parts, connections));
}

async function rewrapAll<T extends Sealed>(parts: Parts, collection: Collection<T>): Promise<number> {
  let rewrapped = 0;
  let after: ReturnType<typeof keyset> | undefined;
  for (;;) {
    const chunk = await collection.find({ where: {}, limit: CHUNK, ...(after && { after }) });
    for (const record of chunk) rewrapped += Number(await rewrap(parts, collection, record));
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < CHUNK) return rewrapped;
    after = keyset(last);
  }
}

async function rewrap<T extends Sealed>({ store, envelope, log }: Parts, collection: Collection<T>, record: T) {
  const { id, tenant, sealed } = record;
  try {
    if (sealed === undefined || envelope.isCurrent(sealed)) return false;
    const work = store.begin();
    work.replace(collection, record, { ...record, sealed: envelope.rewrap(sealed, { tenant, record: id }) });
    await work.commit();
    return true;
  } catch (error) {
    // Whoever was faster has written under the current key; what does not open is told of and left as it is.
    if (error instanceof SecretUnreadable) log.error('secret.unreadable', { record: id, error });
    else if (!(error instanceof LostRace)) throw error;
    return false;
  }
}
