import { onMongo } from '../mongo.js';
import { treeRacesContract } from '../tree-races-contract.js';

onMongo(treeRacesContract);
