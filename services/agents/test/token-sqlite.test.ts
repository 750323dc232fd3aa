import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteDatabase } from '@commonplace/adapters/sqlite';
import { tokenContract } from './token-contract.js';

tokenContract('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'commonplace-tokens-'));
  const database = await openSqliteDatabase({ file: join(folder, 'agents.db') });
  const store = database.store('agents');
  return {
    store: async () => store,
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
});
