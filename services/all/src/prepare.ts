import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, writeSmallFile } from '@commonplace/kit/durable';
import { requireRestored } from '@commonplace/kit/runtime';

/** What one process on a laptop needs no words for: secrets of its own, and the URL that it listens on. */
export function prepareEmbedded(env: NodeJS.ProcessEnv): void {
  env.COMMONPLACE_PUBLIC_URL ||= `http://${env.COMMONPLACE_HOST || '127.0.0.1'}:${env.COMMONPLACE_PORT || '8080'}`;
  env.COMMONPLACE_LOG_LEVEL ||= 'warn';
  const dataDir = env.COMMONPLACE_DATA_DIR || './data';
  requireRestored(dataDir);
  env.COMMONPLACE_SECRET_KEY ??= secretIn(dataDir, 'secret.key');
  env.COMMONPLACE_SECRETS_KEY ??= secretIn(dataDir, 'secrets.key');
}

/** A secret of a data folder, made with it: without it no key, session or credential of the folder is good. */
function secretIn(dataDir: string, name: string): string {
  const file = join(dataDir, name);
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const secret = randomBytes(32).toString('base64');
  makeFolder(dataDir);
  writeSmallFile(file, `${secret}\n`);
  return secret;
}
