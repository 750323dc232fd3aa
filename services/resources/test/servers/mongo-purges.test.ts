import { onMongo } from '../mongo.js';
import { purgeContract } from '../purge-contract.js';

onMongo(purgeContract);
