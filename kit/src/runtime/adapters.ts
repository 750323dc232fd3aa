import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type Values } from '../config/index.js';
import { makeFolder } from '../durable/index.js';
import type { EventBus } from '../events/port.js';
import type { Log } from '../log/index.js';
import type { Store } from '../store/port.js';
import { observeOutbox } from '../telemetry/outbox.js';
import { observeBackups } from './backups.js';
import type { ServiceModule } from './module.js';
import type { processSettings } from './settings.js';

/** The adapters of one process, chosen by its settings; the one place that knows which way it runs. */
export interface Adapters {
  store(module: ServiceModule): Store;
  readonly bus: EventBus;
  /** False when records can't be written any more; the process is to be replaced then. */
  isHealthy(): boolean;
  /** Deletes what was kept for a time that is over. */
  prune(): Promise<unknown>;
  close(): Promise<void>;
}

type Settings = Values<typeof processSettings>;

export async function openAdapters(settings: Settings, modules: readonly ServiceModule[], log: Log): Promise<Adapters> {
  if (!modules.some((module) => module.stores)) return noAdapters;
  const { mongodbUrl, natsUrl, natsReplicas } = settings;
  return mongodbUrl !== undefined && natsUrl !== undefined
    ? openServers(mongodbUrl, { url: natsUrl, replicas: natsReplicas }, modules, log)
    : openEmbedded(settings.dataDir, log);
}

function absent(): never {
  throw new Error('this module keeps no records');
}

const noAdapters: Adapters = {
  store: () => ({ collection: absent, begin: absent, close: async () => {} }),
  get bus() {
    return absent();
  },
  isHealthy: () => true,
  prune: async () => {},
  close: async () => {},
};

/** The records of an embedded system, in its data folder. */
export const DATABASE_FILE = 'commonplace.db';
/** Lies in a data folder while it is being restored: what else is there then is not all of it. */
export const RESTORE_MARKER = 'restore.unfinished';

/** Throws a ConfigError where a data folder holds what an interrupted restore has left: keys and records may be cut. */
export function requireRestored(dataDir: string): void {
  if (!existsSync(join(dataDir, RESTORE_MARKER))) return;
  throw new ConfigError([`${dataDir} was not restored to the end: restore it again`]);
}

async function openEmbedded(dataDir: string, log: Log): Promise<Adapters> {
  const { openSqliteDatabase } = await import('../store/sqlite/index.js');
  requireRestored(dataDir);
  makeFolder(dataDir);
  const database = await openSqliteDatabase({ file: join(dataDir, DATABASE_FILE), log });
  const bus = database.bus();
  // What is committed is in the log that consumers read: nothing waits to be published.
  const observed = [
    observeOutbox('log', async () => ({ pending: 0, oldest: undefined })),
    observeBackups(dataDir, join(dataDir, DATABASE_FILE)),
  ];
  return {
    store: (module) => database.store(module.name),
    bus,
    isHealthy: () => database.healthy,
    prune: () => database.prune(),
    close: async () => {
      for (const end of observed) end();
      await bus.close();
      await database.close();
    },
  };
}

async function openServers(
  mongodbUrl: string,
  nats: { readonly url: string; readonly replicas: number },
  modules: readonly ServiceModule[],
  log: Log,
): Promise<Adapters> {
  const { openMongoDatabase } = await import('../store/mongo/index.js');
  const { openNatsBus } = await import('../events/nats/index.js');
  const { startRelay } = await import('../events/relay.js');
  const database = await openMongoDatabase({ url: mongodbUrl, log });
  const bus = await openNatsBus({ ...nats, log });
  const stores = modules.filter((module) => module.stores).map(({ name }) => name);
  const relays = stores.map((name) => startRelay({ outbox: database.outbox(name), bus, log }));
  const observed = stores.map((name) => observeOutbox(name, database.outbox(name).backlog));
  return {
    store: (module) => database.store(module.name),
    bus,
    isHealthy: () => true,
    // The relays prune their outboxes, JetStream its stream.
    prune: async () => {},
    close: async () => {
      for (const end of observed) end();
      for (const relay of relays) await (await relay).close();
      await bus.close();
      await database.close();
    },
  };
}
