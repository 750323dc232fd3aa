import { main } from '@commonplace/platform/runtime';
import { everything } from './everything.js';
import { prepareEmbedded } from './prepare.js';

/** Runs all services and the gateway until the process is told to end. */
export const start = () => main(everything, prepareEmbedded);
