import { newId } from '@commonplace/kit/id';
import type { Store } from '@commonplace/kit/store';
import { describe } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { openMongoDatabase } from '../mongo/index.js';

/** The MongoDB server for tests; empty if there is none. */
export const mongoUrl = process.env.COMMONPLACE_MONGODB_URL ?? '';

/** Declares suites that need the server that a setting names; without it they are skipped. */
export function onServer(setting: 'COMMONPLACE_MONGODB_URL' | 'COMMONPLACE_NATS_URL', suites: () => void): void {
  const declare = (process.env[setting] ?? '') === '' ? describe.skip : describe;
  declare(`with ${setting}`, suites);
}

/** Deletes the databases of a test. */
export async function dropDatabases(prefix: string): Promise<void> {
  const client = await MongoClient.connect(mongoUrl);
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true });
  for (const { name } of databases) if (name.startsWith(prefix)) await client.db(name).dropDatabase();
  await client.close();
}

/** Returns how to open the store of a service, each time as another process would, in a database for one test. */
export function createMongoStores(service: string): { store(): Promise<Store>; close(): Promise<void> } {
  const databasePrefix = `test_${newId().slice(-12)}_`;
  const opened: { close(): Promise<void> }[] = [];
  return {
    async store() {
      const database = await openMongoDatabase({ url: mongoUrl, databasePrefix });
      opened.push(database);
      return database.store(service);
    },
    async close() {
      for (const database of opened) await database.close();
      await dropDatabases(databasePrefix);
    },
  };
}

/** A store in a database of its own, which `close` drops. */
export interface OpenedStore {
  readonly store: Store;
  close(): Promise<void>;
}

export async function openMongoStore(service: string): Promise<OpenedStore> {
  const { store, close } = createMongoStores(service);
  return { store: await store(), close };
}
