import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OwnSystem } from './system.js';

/** Reads the files in the data folder of an embedded system. */
export function keptFiles(system: OwnSystem): { path: string; bytes: Buffer }[] {
  const folder = join(dirname(system.bootstrapFile), 'data');
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return entries.flatMap(({ parentPath, name }) => {
    const path = join(parentPath, name);
    try {
      return [{ path, bytes: readFileSync(path) }];
    } catch (error) {
      // SQLite deletes the auxiliary files of a database when its last connection is closed.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
}
