import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type StoreHarness, storeContract } from '@commonplace/kit/testing';
import { openConnection } from '../src/sqlite/file/index.js';
import { openSqliteDatabase } from '../src/sqlite/index.js';

async function open(folder: string, cacheChars?: number): Promise<StoreHarness> {
  const file = join(folder, 'contract.db');
  const database = await openSqliteDatabase({ file, ...(cacheChars === undefined ? {} : { cacheChars }) });
  return {
    store: database.store,
    // All services publish to one log; each event names its service.
    events: async () => {
      const reader = openConnection(file, { readOnly: true });
      try {
        return reader.all('SELECT doc FROM events ORDER BY seq').map(([doc]) => JSON.parse(doc as string));
      } finally {
        reader.close();
      }
    },
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true });
    },
    reopen: async () => {
      await database.close();
      return open(folder, cacheChars);
    },
  };
}

const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'commonplace-store-'));

storeContract('sqlite', async () => open(await makeFolder()));
storeContract('sqlite with records in memory', async () => open(await makeFolder(), 2 ** 20));
