import { onServer, openMongoStore } from '@commonplace/adapters/testing';
import { purgeContract } from '../purge-contract.js';

onServer('COMMONPLACE_MONGODB_URL', () => purgeContract('MongoDB', () => openMongoStore('resources')));
