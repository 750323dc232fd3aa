import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteDatabase } from '@commonplace/adapters/sqlite';
import { creditContract } from './credit-contract.js';

creditContract('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'commonplace-credits-'));
  const database = await openSqliteDatabase({ file: join(folder, 'credits.db') });
  const store = database.store('tenancy');
  return {
    store: async () => store,
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true });
    },
    runs: 60,
  };
});
