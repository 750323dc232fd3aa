import { randomBytes } from 'node:crypto';
import { readConfig, type Values } from '@commonplace/kit/config';
import { config } from '../src/config.js';

/** Reads the settings of some variables, with the defaults of all others and a key of its own for secrets. */
export function settingsOf(env: NodeJS.ProcessEnv): Values<typeof config> {
  return readConfig(config, { COMMONPLACE_SECRETS_KEY: randomBytes(32).toString('base64'), ...env });
}
