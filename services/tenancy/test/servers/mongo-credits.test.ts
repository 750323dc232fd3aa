import { openMongoDatabase } from '@commonplace/adapters/mongo';
import { newId } from '@commonplace/kit/id';
import { describe, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { creditContract } from '../credit-contract.js';

const url = process.env.COMMONPLACE_MONGODB_URL ?? '';

if (url === '') {
  describe.skip('credits on MongoDB: COMMONPLACE_MONGODB_URL is not set', () => {
    test('is skipped without a server', () => {});
  });
} else {
  creditContract('MongoDB', async () => {
    const databasePrefix = `test_${newId().slice(-12)}_`;
    const opened: { close(): Promise<void> }[] = [];
    return {
      store: async () => {
        const database = await openMongoDatabase({ url, databasePrefix });
        opened.push(database);
        return database.store('tenancy');
      },
      close: async () => {
        for (const database of opened) await database.close();
        const client = await MongoClient.connect(url);
        await client.db(`${databasePrefix}tenancy`).dropDatabase();
        await client.close();
      },
      runs: 8,
    };
  });
}
