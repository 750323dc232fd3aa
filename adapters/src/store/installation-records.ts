import type { Installation, InstallationRecords } from '@commonplace/kit/installation';
import { type CollectionSpec, inWork, LostRace, type Store, type StoredRecord } from '@commonplace/kit/store';

type InstallationRecord = StoredRecord & Installation;

/** Name of the collection that says to which installation records belong. */
export const INSTALLATION_COLLECTION = 'installation';
const collection: CollectionSpec<InstallationRecord> = { name: INSTALLATION_COLLECTION, indexes: [] };
const ID = 'installation';

interface RecordsOptions {
  readonly store: Store;
  readonly place: string;
  readonly isEmpty: () => Promise<boolean>;
  readonly relatedId?: () => Promise<string | undefined>;
}

/** Creates access to the facts about an installation in a collection of a store. */
export function createInstallationRecords({
  store,
  place,
  isEmpty,
  relatedId = async () => undefined,
}: RecordsOptions): InstallationRecords {
  const open = () => store.collection(collection);
  const records: InstallationRecords = {
    place,
    isEmpty,
    relatedId,
    async read() {
      const found = await (await open()).get(ID);
      return found && fieldsOf(found);
    },
    async insert(installation) {
      const into = await open();
      const work = store.begin();
      work.insert(into, { id: ID, ...installation });
      try {
        await work.commit();
        return installation;
      } catch (error) {
        const known = error instanceof LostRace ? await records.read() : undefined;
        if (known === undefined) throw error;
        return known;
      }
    },
    async update(change) {
      const into = await open();
      return inWork(store, async (work) => {
        const before = await work.get(into, ID);
        if (before === undefined) throw new Error(`${place} belongs to no installation yet`);
        return fieldsOf(work.replace(into, before, { id: ID, ...change(fieldsOf(before)) }));
      });
    },
  };
  return records;
}

function fieldsOf({ installationId, origin, bound, keys, tokens }: InstallationRecord): Installation {
  return { installationId, origin, bound, keys, ...(tokens === undefined ? {} : { tokens }) };
}
