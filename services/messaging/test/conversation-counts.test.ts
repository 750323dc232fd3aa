import { countContract } from './count-contract.js';

countContract('SQLite', { operations: 500, messages: 40 }, async () => ({ store: undefined, close: async () => {} }));
