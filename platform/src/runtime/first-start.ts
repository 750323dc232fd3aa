import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@commonplace/kit/config';
import { makeFolder, syncFolder, writeSmallFile } from '@commonplace/kit/durable';
import { KEY_FILES } from '@commonplace/kit/installation';
import { DATABASE_FILE } from './adapters.js';

/** Marker file in a data folder until its first start has recorded the installation that it belongs to. */
const FIRST_START_MARKER = 'first-start.unfinished';

type KeyVariable = keyof typeof KEY_FILES;

/** Returns the names of the key files in a data folder. */
export function keyFilesIn(dataDir: string): string[] {
  return Object.values(KEY_FILES).filter((name) => existsSync(join(dataDir, name)));
}

/** Returns whether the first start of a data folder is not complete. */
export function isFirstStart(dataDir: string): boolean {
  return existsSync(join(dataDir, FIRST_START_MARKER));
}

export function endFirstStart(dataDir: string): void {
  if (!isFirstStart(dataDir)) return;
  rmSync(join(dataDir, FIRST_START_MARKER));
  syncFolder(dataDir);
}

/** Returns a key's name for messages: its file if that exists in the data folder, otherwise its variable. */
export function keyName(variable: string, dataDir: string): string {
  const file = join(dataDir, KEY_FILES[variable as KeyVariable] ?? variable);
  return existsSync(file) ? file : variable;
}

/**
 * Reads the keys in a data folder, and creates them in an empty folder. Keys in the settings take precedence. Throws
 * ConfigError if a key is missing that an existing database was encrypted with.
 */
export function prepareKeys(env: NodeJS.ProcessEnv, dataDir: string, adoptsKeys: boolean): void {
  makeFolder(dataDir);
  const hasDatabase = (statSync(join(dataDir, DATABASE_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!hasDatabase && keyFilesIn(dataDir).length === 0 && !isFirstStart(dataDir)) {
    writeSmallFile(join(dataDir, FIRST_START_MARKER), 'The first start of this folder has not come to its end.\n');
  }
  const wanted = (Object.keys(KEY_FILES) as KeyVariable[]).filter((variable) => env[variable] === undefined);
  const missing = wanted.map((variable) => KEY_FILES[variable]).filter((name) => !existsSync(join(dataDir, name)));
  if (missing.length > 0 && !adoptsKeys && !isFirstStart(dataDir)) throw missingKeys(dataDir, missing);
  for (const variable of wanted) env[variable] = keyIn(join(dataDir, KEY_FILES[variable]));
}

function missingKeys(dataDir: string, missing: readonly string[]): ConfigError {
  return new ConfigError(
    missing.map(
      (name) =>
        `${join(dataDir, name)} is missing, and what is in the folder was sealed with it: put it back from a backup; ` +
        'to go on with a new key, which ends all that hangs on the old one, start once with COMMONPLACE_ADOPT=keys',
    ),
  );
}

/** Reads a key; creates it if it is missing. */
function keyIn(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const key = randomBytes(32).toString('base64');
  writeSmallFile(file, `${key}\n`);
  return key;
}
