import { openMongoDatabase } from '@commonplace/adapters/mongo';
import { newId } from '@commonplace/kit/id';
import type { Store } from '@commonplace/kit/store';
import { describe, test } from '@jest/globals';
import { MongoClient } from 'mongodb';

const url = process.env.COMMONPLACE_MONGODB_URL ?? '';

/** A store of this service in a database of its own. */
export interface OpenedStore {
  readonly store: Store;
  /** Drops the database. */
  close(): Promise<void>;
}

async function openMongoStore(): Promise<OpenedStore> {
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
}

/** Runs a contract on MongoDB; without a server it is skipped. */
export function onMongo(contract: (name: string, open: () => Promise<OpenedStore>) => void): void {
  if (url !== '') contract('MongoDB', openMongoStore);
  else {
    describe.skip('on MongoDB: COMMONPLACE_MONGODB_URL is not set', () => {
      test('is skipped without a server', () => {});
    });
  }
}
