import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openSqliteDatabase, type SqliteDatabase } from '@commonplace/adapters/sqlite';
import { openKeyRecords } from '@commonplace/files/blobs';
import type { Collection, Store } from '@commonplace/kit/store';
import { BLOBS } from '../src/backup/manifest.js';

/** A data folder of an embedded system, in which files come and go like in the files service. */
export interface DataFolder {
  readonly home: string;
  readonly dataDir: string;
  readonly database: SqliteDatabase;
  /** Runs `work` on the records of a service. */
  inStore(service: string, work: (store: Store) => Promise<void>): Promise<void>;
  /** Writes bytes, then their record. Returns the blob's id. */
  addBlob(bytes?: number): Promise<string>;
  /** Marks a blob as deleted, deletes its bytes, then its record. */
  deleteBlob(id: string): Promise<void>;
  /** Creates another data folder whose database is damaged. Returns its path. */
  damagedCopy(): Promise<string>;
  remove(): Promise<void>;
}

export async function makeDataFolder(): Promise<DataFolder> {
  const home = mkdtempSync(join(tmpdir(), 'commonplace-cli-'));
  const dataDir = join(home, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  for (const name of ['secret.key', 'secrets.key']) {
    writeFileSync(join(dataDir, name), `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  }
  const database = await openSqliteDatabase({ file: join(dataDir, 'commonplace.db') });
  const store = database.store('files');
  const { blobs } = await openKeyRecords(store);
  const pathOf = (id: string) => join(dataDir, BLOBS, id.slice(-2), id);
  return {
    home,
    dataDir,
    database,
    inStore: (service, work) => work(database.store(service)),
    async addBlob(size = 2000) {
      const id = randomUUID();
      const bytes = randomBytes(size);
      mkdirSync(dirname(pathOf(id)), { recursive: true });
      await writeFile(pathOf(id), bytes);
      const work = store.begin();
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      work.insert(blobs, { id, sizeBytes: size, sha256, uses: 1 });
      await work.commit();
      return id;
    },
    async deleteBlob(id) {
      await change(store, blobs, id, (blob) => ({ ...blob, uses: 0, deadAt: new Date().toISOString() }));
      await rm(pathOf(id));
      await change(store, blobs, id, () => undefined);
    },
    async damagedCopy() {
      const other = join(home, 'damaged');
      mkdirSync(other, { mode: 0o700 });
      const copy = join(other, 'commonplace.db');
      await database.backup(copy);
      const bytes = readFileSync(copy);
      bytes.fill(0xff, 4096);
      writeFileSync(copy, bytes);
      return other;
    },
    async remove() {
      await database.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function change<T extends { id: string; version: number }>(
  store: Store,
  collection: Collection<T>,
  id: string,
  how: (record: T) => T | undefined,
): Promise<void> {
  const record = await collection.get(id);
  if (record === undefined) throw new Error(`there is no ${id}`);
  const after = how(record);
  const work = store.begin();
  if (after === undefined) work.remove(collection, record);
  else work.replace(collection, record, after);
  await work.commit();
}
