import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../../durable/index.js';
import type { EventBus } from '../../events/port.js';
import {
  createEventHub,
  createSqliteBus,
  EVENT_TABLES,
  type EventHub,
  pruneEvents,
} from '../../events/sqlite/index.js';
import { type Log, silentLog } from '../../log/index.js';
import type { Store } from '../port.js';
import { backUp } from './backup.js';
import { type Connection, openConnection } from './binding.js';
import { createSqliteStore, type OpenCollections } from './store.js';
import { openWriteQueue, type WriteQueue } from './write-queue.js';
import { plainStep } from './writer-protocol.js';

/** One file that holds the collections of all services and the log of their events. */
export interface SqliteDatabase {
  /** The store of a service; the same collections for the same name. */
  store(service: string): Store;
  /** The bus over the log into which the units of every store publish. */
  bus(): EventBus;
  /**
   * Writes a copy of the whole database, as it is at one moment, to a file that must not be there
   * yet. Reading and writing go on meanwhile.
   */
  backup(path: string): Promise<void>;
  /** Deletes events kept long enough; gives how many. `now` in milliseconds since 1970. */
  prune(now?: number): Promise<number>;
  /** False once nothing can be written any more; the process had better start again. */
  readonly healthy: boolean;
  /** Lets handlers finish, commits what was given, and closes the file. */
  close(): Promise<void>;
}

/** Opens a database file, and makes it, readable by its owner alone, where it is missing. */
export async function openSqliteDatabase(options: { file: string; log?: Log }): Promise<SqliteDatabase> {
  const { file, log = silentLog } = options;
  makeFolder(dirname(file));
  closeSync(openSync(file, 'a', 0o600));
  const reader = openConnection(file, { readOnly: true });
  let queue: WriteQueue | undefined;
  try {
    queue = await openWriteQueue(file, (error) => log.error('store.writer_died', { file, error }));
    await queue.commit(EVENT_TABLES.map(plainStep));
    return createDatabase(file, reader, queue, createEventHub(reader, queue, log));
  } catch (error) {
    await queue?.close();
    reader.close();
    throw error;
  }
}

function createDatabase(file: string, reader: Connection, queue: WriteQueue, hub: EventHub): SqliteDatabase {
  const services = new Map<string, OpenCollections>();
  const buses = new Set<EventBus>();
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await Promise.all([...buses].map((bus) => bus.close()));
    hub.close();
    await queue.close();
    reader.close();
  }

  return {
    store(service) {
      const collections = services.get(service) ?? { tables: new Map(), making: new Map() };
      services.set(service, collections);
      return createSqliteStore(service, collections, { reader, hub });
    },
    bus() {
      const bus = createSqliteBus(hub);
      buses.add(bus);
      return bus;
    },
    backup: (path) => backUp(file, path),
    prune: (now = Date.now()) => pruneEvents(hub, now),
    get healthy() {
      return queue.alive;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}
