import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ParkedEvents } from '@commonplace/kit/events';
import type { InstallationRecords } from '@commonplace/kit/installation';
import type { Store } from '@commonplace/kit/store';
import { DATABASE_FILE } from './adapters.js';

/** The store of one service, for a command that runs next to the system or while it is stopped. */
export interface StoreBeside {
  readonly store: Store;
  /** The installation that the records belong to, with the keys that the last start of the service had. */
  readonly installation: InstallationRecords;
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
    const { openMongoDatabase } = await import('@commonplace/adapters/mongo');
    const database = await openMongoDatabase({ url: mongodbUrl });
    return {
      store: database.store(service),
      installation: database.installationOf(service),
      close: () => database.close(),
    };
  }
  const file = join(dataDir, DATABASE_FILE);
  if (!existsSync(file)) return undefined;
  const { openSqliteDatabase } = await import('@commonplace/adapters/sqlite');
  const database = await openSqliteDatabase({ file });
  return { store: database.store(service), installation: database.installation(), close: () => database.close() };
}

/** The parked events of all consumers, for a command that runs next to the system or while it is stopped. */
export type ParkedBeside = ParkedEvents & { close(): Promise<void> };

/** Opens the parked events of an installation; returns undefined if there is no database yet. */
export async function openParkedBeside({
  dataDir,
  natsUrl,
}: {
  readonly dataDir: string;
  readonly natsUrl: string | undefined;
}): Promise<ParkedBeside | undefined> {
  if (natsUrl !== undefined) {
    const { openParkedEvents } = await import('@commonplace/adapters/nats');
    return openParkedEvents(natsUrl);
  }
  const file = join(dataDir, DATABASE_FILE);
  if (!existsSync(file)) return undefined;
  const { openSqliteDatabase } = await import('@commonplace/adapters/sqlite');
  const database = await openSqliteDatabase({ file });
  const bus = database.bus();
  return {
    ...bus,
    close: async () => {
      await bus.close();
      await database.close();
    },
  };
}
