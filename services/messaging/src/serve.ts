import { main } from '@commonplace/platform/runtime';
import { messaging } from './service.js';

/** Runs this service until the process is told to end. */
export const start = () => main([messaging]);
