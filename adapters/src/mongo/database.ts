import { Internal } from '@commonplace/kit/errors';
import type { InstallationRecords } from '@commonplace/kit/installation';
import { type Log, silentLog } from '@commonplace/kit/log';
import type { Collection, CollectionSpec, Store, StoredRecord } from '@commonplace/kit/store';
import { type Db, MongoClient } from 'mongodb';
import { createStoreObservers } from '../store/listeners.js';
import { observeCommits } from '../store/telemetry.js';
import { followClock } from './clock.js';
import { openCollection } from './collection.js';
import { createCommitQueue, type Work } from './commit-queue.js';
import { isRefused, reading } from './errors.js';
import { serviceInstallation, sharedInstallation } from './installation.js';
import { createOutbox, type MongoOutbox } from './outbox.js';
import { observeConnections } from './pool.js';
import { createSessions, type Sessions } from './sessions.js';
import { createUnit } from './unit.js';

interface MongoOptions {
  /** Connection string of a replica set: `mongodb://…`. */
  readonly url: string;
  readonly log?: Log;
  /** Prefix of database names; `commonplace_` when absent. */
  readonly databasePrefix?: string;
}

export interface MongoDatabase {
  /** Returns the store of a service, which has a database of its own. */
  store(service: string): Store;
  outbox(service: string): MongoOutbox;
  /** Returns the records that say to which installation the databases of all services belong. */
  installation(): InstallationRecords;
  /** Returns the record that says to which installation the database of one service belongs. */
  installationOf(service: string): InstallationRecords;
  /** Rejects with Unavailable when the server does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Name of the database that holds the installation's records, next to those of the services. */
const SHARED = 'installation';

interface Service {
  readonly db: Db;
  readonly outbox: MongoOutbox;
  readonly sessions: Sessions;
  now(): number;
}

/**
 * Connects to MongoDB. Writes are acknowledged once they are in the journals of a majority, and reads return only such
 * data. Rejects with Unavailable if no primary is found within 10 seconds, and with Internal if it refuses the
 * credentials.
 */
export async function openMongoDatabase(options: MongoOptions): Promise<MongoDatabase> {
  const { url, log = silentLog, databasePrefix = 'commonplace_' } = options;
  const client = createClient(url);
  client.on('serverHeartbeatFailed', ({ connectionId, failure }) =>
    log.warn('mongodb.unreachable', { server: connectionId, error: failure }),
  );
  const unobserve = observeConnections(client);
  const now = followClock(client, log);
  await reading(async () => client.connect()).catch(async (error) => {
    unobserve();
    await client.close();
    // A start does not wait for other credentials, which it would never read.
    throw isRefused(error.cause) ? Internal({}, { cause: error.cause }) : error;
  });
  const services = new Map<string, Service>();
  const serviceOf = (name: string): Service => {
    const known = services.get(name);
    if (known !== undefined) return known;
    const db = client.db(`${databasePrefix}${name}`);
    const service = { db, outbox: createOutbox(db), sessions: createSessions(client, db, log), now };
    services.set(name, service);
    return service;
  };
  return {
    store: (name) => createStore(serviceOf(name)),
    outbox: (name) => serviceOf(name).outbox,
    installation: () => {
      const { db } = serviceOf(SHARED);
      return sharedInstallation(
        client,
        { prefix: databasePrefix, shared: db.databaseName },
        createStore(serviceOf(SHARED)),
      );
    },
    installationOf: (name) => serviceInstallation(serviceOf(name).db, createStore(serviceOf(name))),
    ping: () =>
      reading(async () => {
        await client.db('admin').command({ ping: 1 });
      }),
    close: async () => {
      await Promise.all([...services.values()].flatMap(({ outbox, sessions }) => [outbox.close(), sessions.close()]));
      unobserve();
      await client.close();
    },
  };
}

function createClient(url: string): MongoClient {
  return new MongoClient(url, {
    appName: 'commonplace',
    writeConcern: { w: 'majority', journal: true, wtimeoutMS: 10_000 },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
    retryReads: true,
    retryWrites: true,
    maxPoolSize: 50,
    serverSelectionTimeoutMS: 10_000,
    connectTimeoutMS: 5000,
    socketTimeoutMS: 30_000,
    waitQueueTimeoutMS: 10_000,
  });
}

function createStore({ db, outbox, sessions, now }: Service): Store {
  const open = new Map<string, Promise<unknown>>();
  const observed = observeCommits({ system: 'mongodb', service: db.databaseName, synchronous: false });
  const committing = createCommitQueue(sessions, outbox);
  const queue = { commit: (work: Work) => observed(() => committing.commit(work)) };
  const { opened, committed, onCommit, expiring } = createStoreObservers();
  return {
    collection: <T extends StoredRecord>(spec: CollectionSpec<T>) => {
      const key = JSON.stringify([spec.name, spec.indexes]);
      const opening = open.get(key) ?? openCollection(db, spec).then(opened);
      open.set(key, opening);
      opening.catch(() => open.delete(key));
      return opening as Promise<Collection<T>>;
    },
    begin: () => createUnit(queue, committed),
    isExclusive: false,
    now,
    onCommit,
    expiring,
    close: async () => {},
  };
}
