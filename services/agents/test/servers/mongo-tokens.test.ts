import { createMongoStores, onServer } from '@commonplace/adapters/testing';
import { tokenContract } from '../token-contract.js';

onServer('COMMONPLACE_MONGODB_URL', () => tokenContract('MongoDB', async () => createMongoStores('agents')));
