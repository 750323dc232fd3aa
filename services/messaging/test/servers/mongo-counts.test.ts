import { onServer, openMongoStore } from '@commonplace/adapters/testing';
import { countContract } from '../count-contract.js';

onServer('COMMONPLACE_MONGODB_URL', () =>
  countContract('MongoDB', { operations: 300, messages: 4 }, () => openMongoStore('messaging')),
);
