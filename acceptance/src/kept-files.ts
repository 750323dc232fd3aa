import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OwnSystem } from './system.js';

/** Returns the files in the data folder of a system that runs in one process. */
export function keptFiles(system: OwnSystem): { path: string; bytes: Buffer }[] {
  const folder = join(dirname(system.bootstrapFile), 'data');
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return entries.flatMap(({ parentPath, name }) => {
    const path = join(parentPath, name);
    try {
      return [{ path, bytes: readFileSync(path) }];
    } catch (error) {
      // SQLite deletes the files beside a database when its last connection closes.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
}
