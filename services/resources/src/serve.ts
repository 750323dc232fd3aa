import { main } from '@commonplace/platform/runtime';
import { resources } from './service.js';

/** Runs this service until the process is told to end. */
export const start = () => main([resources]);
