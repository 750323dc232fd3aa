import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { observeOutbox } from '@commonplace/adapters/events';
import type { MongoDatabase } from '@commonplace/adapters/mongo';
import type { SqliteDatabase } from '@commonplace/adapters/sqlite';
import { ConfigError, readConfig, type Table, type Values } from '@commonplace/kit/config';
import { makeFolder } from '@commonplace/kit/durable';
import type { EventBus } from '@commonplace/kit/events';
import { type FolderLock, lockFolder } from '@commonplace/kit/folder-lock';
import {
  agree,
  type Hold,
  holdStore,
  type IdentifiedStore,
  type InstallationRecords,
  requireKeys,
  sealingKeys,
} from '@commonplace/kit/installation';
import type { Log } from '@commonplace/kit/log';
import { openSpaceGuard, type SpaceGuard } from '@commonplace/kit/space';
import type { Store } from '@commonplace/kit/store';
import { observeBackups } from './backups.js';
import { waitingFor } from './during-outages.js';
import { type EventServers, isWithoutNats, type NatsPlace, openEventServers } from './event-servers.js';
import { endFirstStart, isFirstStart, keyFilesIn, keyName } from './first-start.js';
import type { ServiceModule } from './module.js';
import type { processSettings } from './settings.js';
import { watchEnd } from './unclean-end.js';
import { openWhenThere } from './waiting.js';

/**
 * The adapters of one process, chosen by its settings. This is the only place that knows whether they are embedded or
 * servers.
 */
export interface Adapters {
  store(module: ServiceModule): Store;
  /** Id of the installation that all stores belong to. */
  readonly installationId: string;
  readonly bus: EventBus;
  /** See `Host`. */
  readonly watchOwn: EventBus['watch'] | undefined;
  /** Returns false once records can no longer be written; the process must be replaced then. */
  isHealthy(): boolean;
  /** See `Host`. */
  holdsStores(): Promise<boolean>;
  /** Guard of the disk space for records; undefined if servers store them. */
  readonly space: SpaceGuard | undefined;
  /** Deletes data whose retention is over. */
  prune(): Promise<unknown>;
  close(): Promise<void>;
}

type Settings = Values<typeof processSettings>;

/** The modules of a process and the settings that configure them. */
interface Parts {
  readonly settings: Settings;
  readonly modules: readonly ServiceModule[];
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** Called before the first wait for a server that does not answer yet. */
  readonly onWaiting?: () => Promise<void>;
}

/**
 * Opens the adapters. Before anything is written, it verifies that all stores belong to one installation, and throws
 * ConfigError if they do not.
 */
export async function openAdapters(parts: Parts): Promise<Adapters> {
  if (!parts.modules.some((module) => module.stores)) return noAdapters;
  const { mongodbUrl, natsUrl, natsReplicas, adopt } = parts.settings;
  if (adopt.length > 0) parts.log.warn('installation.adopt_is_set', { adopt });
  return mongodbUrl !== undefined && natsUrl !== undefined
    ? openServers(mongodbUrl, { url: natsUrl, replicas: natsReplicas }, parts)
    : openEmbedded(parts);
}

function absent(): never {
  throw new Error('this module keeps no records');
}

const noAdapters: Adapters = {
  store: () => ({
    collection: absent,
    begin: absent,
    isExclusive: true,
    now: Date.now,
    onCommit: absent,
    expiring: () => [],
    close: async () => {},
  }),
  installationId: '',
  get bus() {
    return absent();
  },
  watchOwn: undefined,
  isHealthy: () => true,
  holdsStores: async () => true,
  space: undefined,
  prune: async () => {},
  close: async () => {},
};

/** Database file of an embedded system, in its data folder. */
export const DATABASE_FILE = 'commonplace.db';
/** Marker file in a data folder that is being restored; until it is gone, the folder is incomplete. */
export const RESTORE_MARKER = 'restore.unfinished';

/** Throws ConfigError if an interrupted restore has left a data folder with keys and records that may be incomplete. */
export function requireRestored(dataDir: string): void {
  if (!existsSync(join(dataDir, RESTORE_MARKER))) return;
  throw new ConfigError([`${dataDir} was not restored completely: restore it again`]);
}

async function openEmbedded(parts: Parts): Promise<Adapters> {
  const { settings, log } = parts;
  const { dataDir } = settings;
  const { openSqliteDatabase } = await import('@commonplace/adapters/sqlite');
  requireRestored(dataDir);
  makeFolder(dataDir);
  const lock = lockFolder(dataDir);
  const file = join(dataDir, DATABASE_FILE);
  const isMissing = !existsSync(file);
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqliteDatabase({ file, log, cacheChars: settings.recordCacheChars });
    const { installationId, holds } = await identifyEmbedded(database, parts);
    const { reusableBytes } = database;
    const { diskReserveBytes } = settings;
    const space = await openSpaceGuard({ folder: dataDir, reserveBytes: diskReserveBytes, reusableBytes, log });
    database.guardSpace(space);
    const end = watchEnd(dataDir, file, log);
    return embeddedAdapters(database, { dataDir, installationId, holds, lock, space, end });
  } catch (error) {
    await database?.close();
    // If the database is restored later, no files of this one may remain next to it.
    if (isMissing) for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
    lock.release();
    throw error;
  }
}

/** Claims a data folder for an installation, or verifies that every store in use belongs to it. */
async function identifyEmbedded(database: SqliteDatabase, parts: Parts): Promise<Identified> {
  const { settings, log } = parts;
  const { dataDir, adopt } = settings;
  const records = database.installation();
  const stores = await boundStores(parts, parts.modules);
  try {
    const strayKeys = isFirstStart(dataDir) ? [] : keyFilesIn(dataDir);
    const { installationId } = await agree(records, stores, { adopt, log, strayKeys });
    const nameOf = (variable: string) => keyName(variable, dataDir);
    await requireKeys(records, keysOf(parts, parts.modules), { adopt: adopt.includes('keys'), nameOf });
    const holds = await holdStores(records, stores, parts);
    endFirstStart(dataDir);
    return { installationId, holds };
  } catch (error) {
    for (const store of stores) await store.close();
    throw error;
  }
}

interface Identified {
  readonly installationId: string;
  readonly holds: Holds;
}

/** Holds on the stores, which protect them from copies of this process's records. */
interface Holds {
  /** Asks the stores of files, in which something may be deleted for good, whether these records still hold them. */
  areHeld(): Promise<boolean>;
  close(): Promise<void>;
}

/** Ends the process, because another system has a store: the next start detects it and prints what to do. */
const endProcess = () => process.kill(process.pid, 'SIGTERM');

/** Holds the stores that several databases can access, for as long as the process runs, and closes the others. */
async function holdStores(
  records: InstallationRecords,
  stores: readonly IdentifiedStore[],
  { settings: { adopt }, log }: Parts,
): Promise<Holds> {
  const holds: (Hold & Pick<IdentifiedStore, 'kind'>)[] = [];
  const open: IdentifiedStore[] = [];
  for (const store of stores) {
    const { hold } = store;
    if (hold === undefined) {
      await store.close();
      continue;
    }
    const held = await holdStore(records, { ...store, hold }, { adopt, log, onLost: endProcess });
    holds.push({ ...held, kind: store.kind });
    open.push(store);
  }
  const ofFiles = () => holds.filter(({ kind }) => kind === 'files');
  return {
    areHeld: async () => (await Promise.all(ofFiles().map((hold) => hold.isHeld()))).every((isHeld) => isHeld),
    async close() {
      for (const hold of holds) await hold.close();
      for (const store of open) await store.close();
    },
  };
}

interface EmbeddedFacts {
  readonly dataDir: string;
  readonly installationId: string;
  readonly holds: Holds;
  readonly lock: FolderLock;
  readonly space: SpaceGuard;
  readonly end: ReturnType<typeof watchEnd>;
}

function embeddedAdapters(
  database: SqliteDatabase,
  { dataDir, installationId, holds, lock, space, end }: EmbeddedFacts,
): Adapters {
  const bus = database.bus();
  // Committed events are in the log that consumers read, so no event waits to be published.
  const observed = [
    observeOutbox('log', async () => ({ pending: 0, oldest: undefined })),
    observeBackups(dataDir, join(dataDir, DATABASE_FILE)),
  ];
  return {
    store: (module) => database.store(module.name),
    installationId,
    bus,
    watchOwn: bus.watch,
    isHealthy: () => database.healthy,
    holdsStores: holds.areHeld,
    space,
    prune: () => database.prune(),
    close: async () => {
      for (const forget of observed) forget();
      space.close();
      await bus.close();
      await holds.close();
      await database.close();
      await end.close();
      lock.release();
    },
  };
}

/** Milliseconds that a store may be unreachable at a start, and milliseconds between two tries. */
const AWAY_MS = 60_000;
const RETRY_MS = 1000;

/**
 * Reads a store's installation id and retries while the store is unreachable: nothing may start before it is known to
 * whom the stores belong.
 */
async function patiently({ place, readId }: IdentifiedStore, log: Log): Promise<string | undefined> {
  for (const until = Date.now() + AWAY_MS; ; await sleep(RETRY_MS)) {
    try {
      return await readId();
    } catch (error) {
      if (error instanceof ConfigError || Date.now() > until) throw error;
      log.warn('installation.store_away', { store: place, error });
    }
  }
}

async function boundStores(
  { settings, env, log }: Parts,
  modules: readonly ServiceModule[],
): Promise<IdentifiedStore[]> {
  const places = { settings: <T extends Table>(table: T) => readConfig(table, env), dataDir: settings.dataDir };
  const stores: IdentifiedStore[] = [];
  for (const module of modules) stores.push(...((await module.boundStores?.(places)) ?? []));
  return stores.map((store) => ({ ...store, readId: () => patiently(store, log) }));
}

const keysOf = ({ env }: Parts, modules: readonly ServiceModule[]) =>
  sealingKeys(
    modules.map(({ config }) => config),
    env,
  );

async function openServers(mongodbUrl: string, nats: NatsPlace, parts: Parts): Promise<Adapters> {
  const { modules, log } = parts;
  const { openMongoDatabase } = await import('@commonplace/adapters/mongo');
  const { startRelay } = await import('@commonplace/adapters/events');
  const patience = { log, ...(parts.onWaiting && { onWaiting: parts.onWaiting }) };
  const open = () => openMongoDatabase({ url: mongodbUrl, log });
  const database = await openWhenThere('MongoDB', open, patience);
  let identified: Identified | undefined;
  let events: EventServers | undefined;
  try {
    const records = database.installation();
    const isAway = await isWithoutNats(nats, records, patience);
    identified = await openWhenThere('MongoDB', () => identifyServers(database, parts), patience);
    const hold = (streams: IdentifiedStore) => holdStores(records, [streams], parts);
    events = await openEventServers(nats, { records, isAway, adopt: parts.settings.adopt, hold, end: endProcess, log });
  } catch (error) {
    await identified?.holds.close();
    await database.close();
    throw error;
  }
  const bus = waitingFor({ name: 'MongoDB', check: database.ping }, events.bus, log);
  const { installationId, holds } = identified;
  const stores = modules.filter((module) => module.stores).map(({ name }) => name);
  const relays = stores.map((name) => startRelay({ outbox: database.outbox(name), bus, log }));
  const observed = stores.map((name) => observeOutbox(name, database.outbox(name).backlog));
  return {
    store: (module) => database.store(module.name),
    installationId,
    bus,
    watchOwn: undefined,
    isHealthy: () => true,
    holdsStores: holds.areHeld,
    space: undefined,
    // The relays prune their outboxes, and JetStream prunes its streams.
    prune: async () => {},
    close: async () => {
      for (const end of observed) end();
      for (const relay of relays) await (await relay).close();
      await events.close();
      await holds.close();
      await database.close();
    },
  };
}

/**
 * Claims the databases of this process's services, or verifies that they and the stores beside them belong together.
 */
async function identifyServers(database: MongoDatabase, parts: Parts): Promise<Identified> {
  const { log } = parts;
  const { adopt } = parts.settings;
  const { installationId } = await agree(database.installation(), [], { adopt, log });
  const all: Holds[] = [];
  const close = async () => {
    for (const holds of all) await holds.close();
  };
  for (const module of parts.modules.filter(({ stores }) => stores)) {
    const records = database.installationOf(module.name);
    const stores = await boundStores(parts, [module]);
    try {
      await agree(records, stores, { adopt, log, givenId: installationId });
      const nameOf = (variable: string) => variable;
      await requireKeys(records, keysOf(parts, [module]), { adopt: adopt.includes('keys'), nameOf });
      all.push(await holdStores(records, stores, parts));
    } catch (error) {
      for (const store of stores) await store.close();
      await close();
      throw error;
    }
  }
  const areHeld = async () => (await Promise.all(all.map((holds) => holds.areHeld()))).every((isHeld) => isHeld);
  return { installationId, holds: { areHeld, close } };
}
