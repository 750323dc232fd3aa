import { main } from '@commonplace/platform/runtime';
import { identity } from './service.js';

/** Runs this service until the process is told to end. */
export const start = () => main([identity]);
