import { openTestDatabase } from '@commonplace/adapters/testing';
import { tokenContract } from './token-contract.js';

tokenContract('sqlite', async () => {
  const database = await openTestDatabase();
  return { store: async () => database.store('agents'), close: database.close };
});
