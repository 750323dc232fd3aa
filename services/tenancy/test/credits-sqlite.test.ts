import { openTestDatabase } from '@commonplace/adapters/testing';
import { creditContract } from './credit-contract.js';

creditContract('sqlite', async () => {
  const database = await openTestDatabase();
  return { store: async () => database.store('tenancy'), close: database.close, runs: 60 };
});
