import { type Db, MongoClient } from 'mongodb';
import { type Log, silentLog } from '../../log/index.js';
import { observeCommits } from '../../telemetry/store.js';
import type { Collection, CollectionSpec, Store, StoredRecord } from '../port.js';
import { openCollection } from './collection.js';
import { createCommitQueue, type Work } from './commit-queue.js';
import { reading } from './errors.js';
import { createOutbox, type MongoOutbox } from './outbox.js';
import { createSessions, type Sessions } from './sessions.js';
import { createUnit } from './unit.js';

export interface MongoOptions {
  /** `mongodb://…` of a replica set. */
  readonly url: string;
  readonly log?: Log;
  /** What the names of databases begin with; `commonplace_` when absent. */
  readonly databasePrefix?: string;
}

export interface MongoDatabase {
  /** The store of a service, in a database of its own. */
  store(service: string): Store;
  outbox(service: string): MongoOutbox;
  /** Rejects with Unavailable when the server does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface Service {
  readonly db: Db;
  readonly outbox: MongoOutbox;
  readonly sessions: Sessions;
}

/**
 * Connects to MongoDB. What is acknowledged was written to the journals of a majority, and what is
 * read was. Rejects with Unavailable when no primary is found within 10 seconds.
 */
export async function openMongoDatabase(options: MongoOptions): Promise<MongoDatabase> {
  const { url, log = silentLog, databasePrefix = 'commonplace_' } = options;
  const client = createClient(url);
  client.on('serverHeartbeatFailed', ({ connectionId, failure }) =>
    log.warn('mongodb.unreachable', { server: connectionId, error: failure }),
  );
  await reading(async () => client.connect()).catch(async (error) => {
    await client.close();
    throw error;
  });
  const services = new Map<string, Service>();
  const serviceOf = (name: string): Service => {
    const known = services.get(name);
    if (known !== undefined) return known;
    const db = client.db(`${databasePrefix}${name}`);
    const service = { db, outbox: createOutbox(db), sessions: createSessions(client, db, log) };
    services.set(name, service);
    return service;
  };
  return {
    store: (name) => createStore(serviceOf(name)),
    outbox: (name) => serviceOf(name).outbox,
    ping: () =>
      reading(async () => {
        await client.db('admin').command({ ping: 1 });
      }),
    close: async () => {
      await Promise.all([...services.values()].flatMap(({ outbox, sessions }) => [outbox.close(), sessions.close()]));
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

function createStore({ db, outbox, sessions }: Service): Store {
  const open = new Map<string, Promise<unknown>>();
  const observed = observeCommits({ system: 'mongodb', service: db.databaseName, synchronous: false });
  const committing = createCommitQueue(sessions, outbox);
  const queue = { commit: (work: Work) => observed(() => committing.commit(work)) };
  return {
    collection: <T extends StoredRecord>(spec: CollectionSpec<T>) => {
      const key = JSON.stringify([spec.name, spec.indexes]);
      const opening = open.get(key) ?? openCollection(db, spec);
      open.set(key, opening);
      opening.catch(() => open.delete(key));
      return opening as Promise<Collection<T>>;
    },
    begin: () => createUnit(queue),
    close: async () => {},
  };
}
