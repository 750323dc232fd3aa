import { countContract } from './count-contract.js';

countContract('SQLite', { operations: 500, messages: 10 }, async () => ({ store: undefined, close: async () => {} }));
