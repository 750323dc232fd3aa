import { dirname } from 'node:path';
import { makeFolder, makePrivate } from '@commonplace/kit/durable';
import type { EventBus } from '@commonplace/kit/events';
import type { Installation, InstallationRecords } from '@commonplace/kit/installation';
import { type Log, silentLog } from '@commonplace/kit/log';
import { type SpaceGuard, withRoom } from '@commonplace/kit/space';
import type { Store } from '@commonplace/kit/store';
import { createInstallationRecords, INSTALLATION_COLLECTION } from '../store/installation-records.js';
import { createEventHub, createSqliteBus, EVENT_TABLES, type EventHub, pruneEvents } from './events/index.js';
import { backUp } from './file/backup.js';
import { type Connection, openConnection } from './file/binding.js';
import { createScanner } from './file/scanner.js';
import { openWriteQueue, type WriteQueue } from './file/write-queue.js';
import { plainStep } from './file/writer-protocol.js';
import { COUNT_FOREIGN_COMMIT, FOREIGN_COMMITS_TABLE, readForeignCommits } from './foreign-commits.js';
import { createPace } from './paced-reads.js';
import { createRecordCache, NO_RECORD_CACHE, type RecordCache } from './record-cache.js';
import { createKnownSchema } from './schema.js';
import { createSqliteStore, type OpenCollections } from './store.js';

/** A database file that holds the collections of all services and the log of their events. */
export interface SqliteDatabase {
  /** Returns the store of a service; the same name returns the same collections. */
  store(service: string): Store;
  /** Returns the bus over the log to which the units of every store publish. */
  bus(): EventBus;
  /** Returns the record that says to which installation the file belongs. */
  installation(): InstallationRecords;
  /**
   * Writes a copy of the whole database, as it is at one moment, to a file that must not exist yet. Reads and writes
   * continue meanwhile.
   */
  backup(path: string): Promise<void>;
  /** Deletes events whose retention is over and returns their number. `now` is in milliseconds since 1970. */
  prune(now?: number): Promise<number>;
  /** Returns the number of bytes in the file that later writes can reuse. */
  reusableBytes(): number;
  /** Lets deletions use the guard's reserved disk space when the disk is full. */
  guardSpace(space: SpaceGuard): void;
  /** False once the database can no longer be written to; the process should be restarted then. */
  readonly healthy: boolean;
  /** Lets handlers finish, commits pending units and closes the file. */
  close(): Promise<void>;
}

export interface SqliteOptions {
  readonly file: string;
  readonly log?: Log;
  /**
   * Characters of JSON of the records that the only process that owns the file caches. Any other process leaves it
   * out: it caches nothing, and its commits empty the owner's cache.
   */
  readonly cacheChars?: number;
}

/** Opens a database file. Creates it, readable by its owner only, if it is missing. */
export async function openSqliteDatabase(options: SqliteOptions): Promise<SqliteDatabase> {
  const { file, log = silentLog, cacheChars } = options;
  makeFolder(dirname(file));
  makePrivate(file);
  const reader = openConnection(file, { readOnly: true });
  let queue: WriteQueue | undefined;
  try {
    queue = await openWriteQueue(file, (error) => log.error('store.writer_died', { file, error }));
    await queue.commit([...EVENT_TABLES.map(plainStep), FOREIGN_COMMITS_TABLE]);
    if (cacheChars === undefined) countCommits(queue);
    const cache = cacheChars ? createRecordCache(cacheChars, () => readForeignCommits(reader)) : NO_RECORD_CACHE;
    const guarded = withReserve(queue);
    return createDatabase(file, { reader, cache }, guarded, createEventHub(reader, guarded.queue, log));
  } catch (error) {
    await queue?.close();
    reader.close();
    throw error;
  }
}

/** Makes each commit of a queue count as one by a process that does not own the file. */
function countCommits(queue: WriteQueue): void {
  const { commit } = queue;
  queue.commit = (steps, acknowledged) => commit([...steps, COUNT_FOREIGN_COMMIT], acknowledged);
}

interface GuardedQueue {
  readonly queue: WriteQueue;
  guardSpace(space: SpaceGuard): void;
}

/** Wraps a queue so that it retries a commit if the disk is full and a guard releases its reserve. */
function withReserve(queue: WriteQueue): GuardedQueue {
  let space: SpaceGuard | undefined;
  const { commit } = queue;
  queue.commit = (steps, acknowledged) => withRoom(space, () => commit(steps, acknowledged));
  return {
    queue,
    guardSpace(guard) {
      space = guard;
    },
  };
}

function createDatabase(
  file: string,
  { reader, cache }: { readonly reader: Connection; readonly cache: RecordCache },
  { queue, guardSpace }: GuardedQueue,
  hub: EventHub,
): SqliteDatabase {
  const services = new Map<string, OpenCollections>();
  const buses = new Set<EventBus>();
  const scanner = createScanner(file);
  const schema = createKnownSchema(reader);
  const pace = createPace();
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await Promise.all([...buses].map((bus) => bus.close()));
    hub.close();
    await scanner.close();
    await queue.close();
    reader.close();
  }

  function store(service: string): Store {
    const collections = services.get(service) ?? { tables: new Map(), making: new Map(), complete: new Map() };
    services.set(service, collections);
    return createSqliteStore(service, collections, { reader, scanner, hub, cache, schema, pace });
  }

  return {
    store,
    bus() {
      const bus = createSqliteBus(hub);
      buses.add(bus);
      return bus;
    },
    installation: () =>
      createInstallationRecords({
        store: store(SYSTEM),
        place: `the database ${file}`,
        isEmpty: async () => isEmpty(reader),
      }),
    backup: (path) => backUp(file, path),
    prune: (now = Date.now()) => pruneEvents(hub, now),
    reusableBytes() {
      const [pages] = reader.get('PRAGMA freelist_count') ?? [];
      const [bytes] = reader.get('PRAGMA page_size') ?? [];
      return Number(pages ?? 0) * Number(bytes ?? 0);
    },
    guardSpace,
    get healthy() {
      return queue.alive;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Name of the store that holds the installation's record, next to those of the services. */
const SYSTEM = 'system';
/** Tables that a process start writes to before any user has stored anything. */
const WRITTEN_BY_STARTS = [`${SYSTEM}__${INSTALLATION_COLLECTION}`, '%__store_format'];

/**
 * Returns the installation that a database belongs to, read from outside of the running system; undefined if none is
 * recorded.
 */
export function inspectInstallation(connection: Connection): Installation | undefined {
  const table = `${SYSTEM}__${INSTALLATION_COLLECTION}`;
  if (connection.get('SELECT 1 FROM sqlite_master WHERE name = ?', [table]) === undefined) return undefined;
  const doc = connection.get(`SELECT doc FROM ${table}`)?.[0];
  return doc === undefined ? undefined : (JSON.parse(String(doc)) as Installation);
}

/** Returns whether no service has stored a record. */
function isEmpty(reader: Connection): boolean {
  const tables = reader.all(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '?*__?*' AND name NOT GLOB '?*__?*__?*' " +
      `AND ${WRITTEN_BY_STARTS.map(() => 'name NOT LIKE ?').join(' AND ')}`,
    WRITTEN_BY_STARTS,
  );
  return tables.every(([name]) => reader.get(`SELECT 1 FROM ${name} LIMIT 1`) === undefined);
}
