import { countContract } from './count-contract.js';

countContract('SQLite', async () => ({ store: undefined, close: async () => {} }));
