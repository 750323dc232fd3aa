import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsTables } from '@commonplace/all/settings';
import { config as filesConfig } from '@commonplace/files/config';
import { readConfigs, type Table } from '@commonplace/kit/config';
import { processSettings, type RecordPlaces } from '@commonplace/platform/runtime';
import { config as searchConfig } from '@commonplace/search/config';
import { KEY_FILES } from './backup/manifest.js';

/** The settings tables of all services. `process` contains the settings that every service reads. */
export const allTables: Readonly<Record<string, Table>> = { process: processSettings, ...settingsTables };

/** The settings that determine where an installation stores data. */
export interface Places extends RecordPlaces {
  readonly natsUrl: string | undefined;
  readonly s3Url: string | undefined;
  readonly typesensePrefix: string;
  readonly typesenseUrl: readonly string[] | undefined;
  readonly typesenseApiKey: string | undefined;
  readonly otlpUrl: string | undefined;
  readonly otlpHeaders: Readonly<Record<string, string>> | undefined;
}

const { dataDir, mongodbUrl, natsUrl, otlpUrl, otlpHeaders } = processSettings;
const { typesenseUrl, typesenseApiKey, typesensePrefix } = searchConfig;
const servers = { mongodbUrl, natsUrl, s3Url: filesConfig.s3Url, typesenseUrl, typesenseApiKey, typesensePrefix };
const placesTable = { dataDir, ...servers, otlpUrl, otlpHeaders };

/**
 * Marks all settings of a table as secret, so that no error shows a value. A secret may have been put into the wrong
 * setting.
 */
export function hidden<T extends Table>(table: T): T {
  return Object.fromEntries(Object.entries(table).map(([name, setting]) => [name, { ...setting, secret: true }])) as T;
}

/** Reads the settings that determine where data is stored. Throws ConfigError. */
export function readPlaces(env: NodeJS.ProcessEnv): Places {
  return readConfigs({ places: hidden(placesTable) }, env).places;
}

/** Returns the environment with the keys from a data folder, like an embedded system uses them. Creates no keys. */
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
    // The check of permissions reports files that this user may not read.
    return undefined;
  }
}
