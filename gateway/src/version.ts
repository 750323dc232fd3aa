import { createRequire } from 'node:module';

/** Version of this build, from its package.json. */
export const SERVER_VERSION: string = (createRequire(import.meta.url)('../../package.json') as { version: string })
  .version;
