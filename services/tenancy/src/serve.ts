import { main } from '@commonplace/platform/runtime';
import { tenancy } from './service.js';

/** Runs this service until the process is told to end. */
export const start = () => main([tenancy]);
