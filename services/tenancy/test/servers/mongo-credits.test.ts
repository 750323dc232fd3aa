import { createMongoStores, onServer } from '@commonplace/adapters/testing';
import { creditContract } from '../credit-contract.js';

onServer('COMMONPLACE_MONGODB_URL', () =>
  creditContract('MongoDB', async () => ({ ...createMongoStores('tenancy'), runs: 8 })),
);
