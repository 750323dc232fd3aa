import { openMongoDatabase } from '@commonplace/adapters/mongo';
import { newId } from '@commonplace/kit/id';
import { describe, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { purgeContract } from '../purge-contract.js';

const url = process.env.COMMONPLACE_MONGODB_URL ?? '';

if (url === '') {
  describe.skip('purges on MongoDB: COMMONPLACE_MONGODB_URL is not set', () => {
    test('is skipped without a server', () => {});
  });
} else {
  purgeContract('MongoDB', async () => {
    const databasePrefix = `test_${newId().slice(-12)}_`;
    const database = await openMongoDatabase({ url, databasePrefix });
    return {
      store: await database.store('resources'),
      async close() {
        await database.close();
        const client = await MongoClient.connect(url);
        await client.db(`${databasePrefix}resources`).dropDatabase();
        await client.close();
      },
    };
  });
}
