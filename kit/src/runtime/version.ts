import { createRequire } from 'node:module';

/** The version of this build, as its package says. */
export const VERSION = (createRequire(import.meta.url)('../../../package.json') as { version: string }).version;
