import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '../store/port.js';
import { DATABASE_FILE } from './adapters.js';

/** The store of one service, for a command that runs next to the system or while it is stopped. */
export interface StoreBeside {
  readonly store: Store;
  close(): Promise<void>;
}

/** Where the records are, according to the settings. */
export interface RecordPlaces {
  readonly dataDir: string;
  readonly mongodbUrl: string | undefined;
}

/** Opens an existing store; returns undefined if there is none yet. The running system delivers the store's events. */
export async function openStoreBeside(
  { dataDir, mongodbUrl }: RecordPlaces,
  service: string,
): Promise<StoreBeside | undefined> {
  if (mongodbUrl !== undefined) {
    const { openMongoDatabase } = await import('../store/mongo/index.js');
    const database = await openMongoDatabase({ url: mongodbUrl });
    return { store: database.store(service), close: () => database.close() };
  }
  const file = join(dataDir, DATABASE_FILE);
  if (!existsSync(file)) return undefined;
  const { openSqliteDatabase } = await import('../store/sqlite/index.js');
  const database = await openSqliteDatabase({ file });
  return { store: database.store(service), close: () => database.close() };
}
