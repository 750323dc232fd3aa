import { onServer, openMongoStore } from '@commonplace/adapters/testing';
import { treeRacesContract } from '../tree-races-contract.js';

onServer('COMMONPLACE_MONGODB_URL', () => treeRacesContract('MongoDB', () => openMongoStore('resources')));
