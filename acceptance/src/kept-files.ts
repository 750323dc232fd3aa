import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OwnSystem } from './system.js';

/** What a system in one process keeps in its folder, byte for byte. */
export function keptFiles(system: OwnSystem): { path: string; bytes: Buffer }[] {
  const folder = join(dirname(system.bootstrapFile), 'data');
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return entries.flatMap(({ parentPath, name }) => {
    const path = join(parentPath, name);
    try {
      return [{ path, bytes: readFileSync(path) }];
    } catch (error) {
      // SQLite takes the files beside a database away when its last connection closes.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
}
