import { isIPv6 } from 'node:net';
import { list } from '@commonplace/kit/config';
import { lockFolder } from '@commonplace/kit/folder-lock';
import { prepareKeys, requireRestored } from '@commonplace/platform/runtime';

/** Sets the defaults of an embedded system: its public URL, its log level, and the keys in its data folder. */
export function prepareEmbedded(env: NodeJS.ProcessEnv): void {
  env.COMMONPLACE_PUBLIC_URL ||= localUrl(env);
  env.COMMONPLACE_LOG_LEVEL ||= 'warn';
  const dataDir = env.COMMONPLACE_DATA_DIR || './data';
  requireRestored(dataDir);
  // The lock is held until the process ends: two processes that start on an empty folder must not both create keys.
  lockFolder(dataDir);
  prepareKeys(env, dataDir, list(env.COMMONPLACE_ADOPT ?? '').includes('keys'));
}

/**
 * Returns the URL of the address that the server listens on. Omits an invalid port, which the port's own setting
 * reports.
 */
function localUrl(env: NodeJS.ProcessEnv): string {
  const host = env.COMMONPLACE_HOST || '127.0.0.1';
  const origin = `http://${isIPv6(host) ? `[${host}]` : host}`;
  const url = `${origin}:${env.COMMONPLACE_PORT || '8080'}`;
  return URL.canParse(url) ? url : origin;
}
