import { treeRacesContract } from './tree-races-contract.js';

treeRacesContract('SQLite');
