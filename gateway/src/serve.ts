import { main } from '@commonplace/platform/runtime';
import { gateway } from './service.js';

/** Runs the gateway until the process is told to end. */
export const start = () => main([gateway]);
