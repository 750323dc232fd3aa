import { newId } from '@commonplace/kit/id';
import { type StoreHarness, storeContract } from '@commonplace/kit/testing';
import { describe, test } from '@jest/globals';
import { openMongoDatabase } from '../../src/mongo/index.js';
import { dropDatabases, mongoUrl as url } from '../servers.js';

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

if (url === '') {
  describe.skip('store on MongoDB: COMMONPLACE_MONGODB_URL is not set', () => {
    test('no server', () => {});
  });
} else {
  storeContract('MongoDB', () => openHarness(`test_${newId().slice(-12)}_`));
}
