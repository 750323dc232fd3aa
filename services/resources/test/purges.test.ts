import { purgeContract } from './purge-contract.js';

purgeContract('SQLite');
