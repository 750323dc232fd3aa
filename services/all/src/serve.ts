import { main } from '@commonplace/platform/runtime';
import { everything } from './everything.js';
import { prepareEmbedded } from './prepare.js';

await main(everything, prepareEmbedded);
