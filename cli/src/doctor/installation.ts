import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openBlobInstallation } from '@commonplace/files/blobs';
import {
  type IdentifiedStore,
  type Installation,
  KEY_FILES,
  type SealingKeys,
  sealingKeys,
  strangeKeys,
} from '@commonplace/kit/installation';
import { DATABASE_FILE, isFirstStart } from '@commonplace/platform/runtime';
import { openIndexInstallation } from '@commonplace/search/installation';
import { allTables, type Places, withKeyFiles } from '../settings.js';
import { type Check, errorLine, type Finding, failed, ok, skipped, warning, worstOf } from './check.js';

/**
 * Returns the checks that the parts of an installation belong together: stores by installation id, keys by fingerprint.
 */
export function installationChecks(
  places: Places,
  env: NodeJS.ProcessEnv,
  read: () => Promise<readonly Installation[]>,
): Check[] {
  const reading = read();
  // Both checks await this promise and report its error.
  reading.catch(() => {});
  return [
    { name: 'installation', run: async () => judgeStores(await reading, places) },
    { name: 'keys', run: async () => judgeKeys(await reading, places, env) },
  ];
}

async function judgeStores(known: readonly Installation[], places: Places): Promise<Finding> {
  const ids = [...new Set(known.map(({ installationId }) => installationId))];
  const [id] = ids;
  if (id === undefined) return skipped('the next start assigns an installation id');
  if (ids.length > 1) return failed(`databases of ${ids.length} installations are mixed: ${ids.join(', ')}`);
  const findings = [ok(`installation ${id}`)];
  for (const open of openers(places)) {
    const store = await open();
    try {
      findings.push(await judgeStore(store, id));
    } finally {
      await store.close();
    }
  }
  return worstOf(findings, { installation_id: id });
}

function openers(places: Places): (() => Promise<IdentifiedStore>)[] {
  const { dataDir, s3Url, natsUrl, mongodbUrl, typesenseUrl } = places;
  // In a mesh each pod has its own data folder, which this process can't see.
  const inFolders = mongodbUrl === undefined;
  return [
    ...(inFolders || s3Url !== undefined ? [() => openBlobInstallation({ s3Url }, dataDir)] : []),
    ...(inFolders || typesenseUrl !== undefined ? [() => openIndexInstallation(places, dataDir)] : []),
    ...(natsUrl === undefined
      ? []
      : [async () => (await import('@commonplace/adapters/nats')).openEventInstallation({ url: natsUrl })]),
  ];
}

async function judgeStore(store: IdentifiedStore, id: string): Promise<Finding> {
  try {
    const found = await store.readId();
    if (found === id) return ok(`${store.place} belongs to it`);
    if (found !== undefined) return failed(`${store.place} belongs to installation ${found} instead of ${id}`);
    if (await store.isEmpty()) return ok(`${store.place} is empty`);
    return warning(`${store.place} does not have an installation id yet`);
  } catch (error) {
    return failed(`${store.place}: ${errorLine(error)}`);
  }
}

function judgeKeys(known: readonly Installation[], { dataDir, mongodbUrl }: Places, env: NodeJS.ProcessEnv): Finding {
  const embedded = mongodbUrl === undefined;
  const missing = embedded ? missingFiles(env, dataDir) : [];
  if (missing.length > 0) {
    const paths = missing.map((name) => join(dataDir, name));
    return failed(`missing: ${paths.join(' and ')}; restore the keys of this database from a backup`);
  }
  const given = keysIn(embedded ? withKeyFiles(env, dataDir) : env);
  const mismatched = [...new Set(known.flatMap((installation) => strangeKeys(installation, given)))];
  if (mismatched.length > 0) {
    const names = mismatched.map((variable) => nameOf(variable, dataDir));
    return failed(`${names.join(' and ')}: not the key of this database; restore the original key`);
  }
  const checked = [...given.keys()].filter((variable) => known.some(({ keys }) => keys[variable] !== undefined));
  if (checked.length === 0) return skipped('there are no keys to compare yet');
  return ok(`${checked.map((variable) => nameOf(variable, dataDir)).join(' and ')} fit the database`);
}

/** Returns the names of key files that are missing although there is a database. */
function missingFiles(env: NodeJS.ProcessEnv, dataDir: string): string[] {
  const hasDatabase = (statSync(join(dataDir, DATABASE_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!hasDatabase || isFirstStart(dataDir)) return [];
  return Object.entries(KEY_FILES)
    .filter(([variable, name]) => env[variable] === undefined && !existsSync(join(dataDir, name)))
    .map(([, name]) => name);
}

function keysIn(env: NodeJS.ProcessEnv): SealingKeys {
  try {
    return sealingKeys(Object.values(allTables), env);
  } catch {
    // The check of the configuration reports invalid keys.
    return new Map();
  }
}

function nameOf(variable: string, dataDir: string): string {
  const file = join(dataDir, KEY_FILES[variable as keyof typeof KEY_FILES] ?? variable);
  return existsSync(file) ? file : variable;
}
