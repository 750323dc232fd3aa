import type { Installation, InstallationRecords } from '@commonplace/kit/installation';
import type { Store, StoredRecord } from '@commonplace/kit/store';
import type { Db, MongoClient } from 'mongodb';
import { createInstallationRecords, INSTALLATION_COLLECTION } from '../store/installation-records.js';
import { decodeRecord, type StoredDocument } from './codec.js';
import { reading } from './errors.js';

/** Collections that a process start writes to before any user has stored anything. */
const WRITTEN_BY_STARTS = /^(installation|store_format|instances|outbox.*|system\..*)$/;

/** Returns the record that says to which installation the database of one service belongs. */
export function serviceInstallation(db: Db, store: Store): InstallationRecords {
  const isEmptyNow = () => reading(() => isEmpty(db));
  const records = createInstallationRecords({ store, place: `the database ${db.databaseName}`, isEmpty: isEmptyNow });
  // This does not create the collection: commands that only inspect must change nothing.
  const read = () =>
    reading(async () => {
      const found = await db.collection<StoredDocument>(INSTALLATION_COLLECTION).findOne({});
      return found === null ? undefined : decodeRecord<StoredRecord & Installation>(found);
    });
  return { ...records, read };
}

interface DatabaseNames {
  /** Prefix of the names of all databases of the installation. */
  readonly prefix: string;
  readonly shared: string;
}

/**
 * Returns the records that say to which installation all databases with one prefix belong; one process at a time writes
 * them.
 */
export function sharedInstallation(
  client: MongoClient,
  { prefix, shared }: DatabaseNames,
  store: Store,
): InstallationRecords {
  const others = () =>
    reading(async () => {
      const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
      const names = databases.map(({ name }) => name).filter((name) => name.startsWith(prefix) && name !== shared);
      return names.map((name) => client.db(name));
    });
  return createInstallationRecords({
    store,
    place: `MongoDB's databases ${prefix}*`,
    async isEmpty() {
      for (const db of await others()) if (!(await reading(() => isEmpty(db)))) return false;
      return true;
    },
    async relatedId() {
      for (const db of await others()) {
        const found = await reading(() => db.collection(INSTALLATION_COLLECTION).findOne({}));
        if (typeof found?.installationId === 'string') return found.installationId;
      }
      return undefined;
    },
  });
}

async function isEmpty(db: Db): Promise<boolean> {
  for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
    if (!WRITTEN_BY_STARTS.test(name) && (await db.collection(name).findOne({})) !== null) return false;
  }
  return true;
}
