import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import type { Bench } from './bench.js';
import { Skipped } from './row.js';

type ServerName = 'mongo' | 'nats' | 's3' | 'typesense';

/** Settings by which a mesh finds each server. */
const SETTINGS: Readonly<Record<ServerName, readonly string[]>> = {
  mongo: ['COMMONPLACE_MONGODB_URL'],
  nats: ['COMMONPLACE_NATS_URL'],
  s3: ['COMMONPLACE_S3_URL'],
  typesense: ['COMMONPLACE_TYPESENSE_URL', 'COMMONPLACE_TYPESENSE_API_KEY'],
};

interface ServerScript {
  startServers(options: { dir: string }): Promise<{ env: Readonly<Record<string, string>>; stop(): Promise<void> }>;
}

/**
 * Starts the servers of a mesh with their data on the disk, calls `measure` with the settings that name those of `names`,
 * and stops them. Throws `Skipped` without `--mesh`.
 */
export async function withServers<T>(
  { options }: Bench,
  names: readonly ServerName[],
  measure: (settings: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  if (!options.mesh) throw new Skipped('pass --mesh, which starts servers of MongoDB’s protocol and NATS');
  const dir = mkdtempSync(join(ROOT, 'bench/data/servers-'));
  const script = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as ServerScript;
  try {
    const servers = await script.startServers({ dir });
    const wanted = new Set(names.flatMap((name) => SETTINGS[name]));
    try {
      return await measure(Object.fromEntries(Object.entries(servers.env).filter(([name]) => wanted.has(name))));
    } finally {
      await servers.stop();
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
