import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsTables } from '@commonplace/all/settings';
import { config as filesConfig } from '@commonplace/files/config';
import { readConfigs, type Table } from '@commonplace/kit/config';
import { processSettings, type RecordPlaces } from '@commonplace/kit/runtime';
import { config as searchConfig } from '@commonplace/search/config';
import { KEY_FILES } from './backup/manifest.js';

/** Every setting of every service; `process` are those that all of them read. */
export const allTables: Readonly<Record<string, Table>> = { process: processSettings, ...settingsTables };

/** The settings that say where an installation keeps things. */
export interface Places extends RecordPlaces {
  readonly natsUrl: string | undefined;
  readonly s3Url: string | undefined;
  readonly typesenseUrl: readonly string[] | undefined;
  readonly typesenseApiKey: string | undefined;
  readonly otlpUrl: string | undefined;
  readonly otlpHeaders: Readonly<Record<string, string>> | undefined;
}

const { dataDir, mongodbUrl, natsUrl, otlpUrl, otlpHeaders } = processSettings;
const { typesenseUrl, typesenseApiKey } = searchConfig;
const servers = { mongodbUrl, natsUrl, s3Url: filesConfig.s3Url, typesenseUrl, typesenseApiKey };
const placesTable = { dataDir, ...servers, otlpUrl, otlpHeaders };

/** A table whose problems tell no value: it may be a secret that was put into the wrong variable. */
export function hidden<T extends Table>(table: T): T {
  return Object.fromEntries(Object.entries(table).map(([name, setting]) => [name, { ...setting, secret: true }])) as T;
}

/** Reads where things are kept. Throws ConfigError. */
export function readPlaces(env: NodeJS.ProcessEnv): Places {
  return readConfigs({ places: hidden(placesTable) }, env).places;
}

/** The environment as an embedded system sees it, whose keys lie in its data folder. Nothing is made. */
export function withKeyFiles(env: NodeJS.ProcessEnv, dataFolder: string): NodeJS.ProcessEnv {
  const [secret, secrets] = KEY_FILES.map((name) => join(dataFolder, name)) as [string, string];
  return {
    ...env,
    COMMONPLACE_SECRET_KEY: env.COMMONPLACE_SECRET_KEY ?? keyIn(secret),
    COMMONPLACE_SECRETS_KEY: env.COMMONPLACE_SECRETS_KEY ?? keyIn(secrets),
  };
}

function keyIn(file: string): string | undefined {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  } catch {
    // Who may not read it is told by the check of permissions.
    return undefined;
  }
}
