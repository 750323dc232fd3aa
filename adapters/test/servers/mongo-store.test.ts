import { newId } from '@commonplace/kit/id';
import { type StoreHarness, storeContract } from '@commonplace/kit/testing';
import { openMongoDatabase } from '../../src/mongo/index.js';
import { dropDatabases, onServer, mongoUrl as url } from '../../src/testing/index.js';

async function openHarness(databasePrefix: string): Promise<StoreHarness> {
  const database = await openMongoDatabase({ url, databasePrefix });
  return {
    store: (service) => database.store(service),
    events: (service) => database.outbox(service).kept(),
    close: async () => {
      await database.close();
      await dropDatabases(databasePrefix);
    },
    reopen: async () => {
      await database.close();
      return openHarness(databasePrefix);
    },
  };
}

onServer('COMMONPLACE_MONGODB_URL', () => storeContract('MongoDB', () => openHarness(`test_${newId().slice(-12)}_`)));
