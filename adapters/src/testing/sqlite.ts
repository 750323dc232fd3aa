import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteDatabase, type SqliteDatabase } from '../sqlite/index.js';

/** A database in a folder of its own, which `close` deletes. */
export interface TestDatabase extends SqliteDatabase {
  readonly folder: string;
}

export async function openTestDatabase(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-test-'));
  const database = await openSqliteDatabase({ file: join(folder, 'commonplace.db') });
  const { close } = database;
  return Object.assign(database, {
    folder,
    async close() {
      await close();
      rmSync(folder, { recursive: true });
    },
  });
}
