import { openMongoDatabase } from '@commonplace/adapters/mongo';
import { newId } from '@commonplace/kit/id';
import { describe, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { tokenContract } from '../token-contract.js';

const url = process.env.COMMONPLACE_MONGODB_URL ?? '';

if (url === '') {
  describe.skip('tokens of MCP servers on MongoDB: COMMONPLACE_MONGODB_URL is not set', () => {
    test('is skipped without a server', () => {});
  });
} else {
  tokenContract('MongoDB', async () => {
    const databasePrefix = `test_${newId().slice(-12)}_`;
    const opened: { close(): Promise<void> }[] = [];
    return {
      store: async () => {
        const database = await openMongoDatabase({ url, databasePrefix });
        opened.push(database);
        return database.store('agents');
      },
      close: async () => {
        for (const database of opened) await database.close();
        const client = await MongoClient.connect(url);
        await client.db(`${databasePrefix}agents`).dropDatabase();
        await client.close();
      },
    };
  });
}
