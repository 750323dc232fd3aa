import type { StoredRecord } from '@commonplace/kit/store';
import { LRUCache } from 'lru-cache';
import { createQueryCache } from './query-cache.js';

/** Identifies a record by its table and id. */
export interface RecordKey {
  readonly table: string;
  readonly id: string;
}

/**
 * Keeps committed records of a database in memory, so that reading them again needs neither SQLite nor a JSON parser. A
 * record that is being written to is not cached, because its commit can take effect at any moment.
 */
export interface RecordCache {
  readonly isEnabled: boolean;
  /** Returns a record; undefined if it is not cached. */
  get(table: string, id: string): StoredRecord | undefined;
  /** Returns a record as `get` does, but doesn't count as a use of it when the cache chooses what to evict. */
  peek(table: string, id: string): StoredRecord | undefined;
  /**
   * Caches a record that was read from the file after `get` in the same turn of the event loop. `size` is the number of
   * characters of its JSON. Returns the record, which is frozen if it is cached, because all readers share it.
   */
  put<T extends StoredRecord>(table: string, record: T, size: number): T;
  /** Returns the ids that a query to a table found; undefined if they are not cached or out of date. */
  found(table: string, query: string): readonly string[] | undefined;
  /** Caches the ids that a query has found in the file after `found` in the same turn of the event loop. */
  putFound(table: string, query: string, ids: readonly string[]): void;
  /** Removes records and the queries of their tables, and doesn't cache them until the returned function is called. */
  exclude(keys: readonly RecordKey[]): () => void;
}

/** Caches nothing. */
export const NO_RECORD_CACHE: RecordCache = {
  isEnabled: false,
  get: () => undefined,
  peek: () => undefined,
  put: (_table, record) => record,
  found: () => undefined,
  putFound: () => {},
  exclude: () => () => {},
};

/** Characters of the largest record that is cached, so that a few large ones do not evict all others. */
const MAX_RECORD_CHARS = 64 * 1024;

/** Characters of queries for each character of records. */
const QUERIES_SHARE = 1 / 8;

/**
 * Creates a cache of up to `chars` characters of JSON, and an eighth as many of queries. `readForeignCommits` returns the number of commits by other
 * processes; it is called at most once in each turn of the event loop, and a change empties the cache.
 */
export function createRecordCache(chars: number, readForeignCommits: () => number): RecordCache {
  // An entry larger than the whole cache would make the library's sum of sizes negative, and the cache exceed its limit.
  const maxEntrySize = Math.min(MAX_RECORD_CHARS, chars);
  const records = new LRUCache<string, StoredRecord>({ maxSize: chars, maxEntrySize, dispose: drop });
  /** The cached records by table and id, because a test of a candidate has no time to build a key. */
  const tables = new Map<string, Map<string, StoredRecord>>();
  const queries = createQueryCache(chars * QUERIES_SHARE);
  /** Numbers of units in progress that write to a record. */
  const writers = new Map<string, number>();
  let foreignCommits = readForeignCommits();
  let isCurrent = false;

  function drop(record: StoredRecord, key: string): void {
    const table = tables.get(key.slice(0, -record.id.length - 1));
    if (table?.get(record.id) === record) table.delete(record.id);
  }

  function tableOf(name: string): Map<string, StoredRecord> {
    let table = tables.get(name);
    if (table === undefined) {
      table = new Map();
      tables.set(name, table);
    }
    return table;
  }

  function endTurn(): void {
    isCurrent = false;
  }

  function clearAfterForeignCommit(): void {
    isCurrent = true;
    setImmediate(endTurn);
    const count = readForeignCommits();
    if (count !== foreignCommits) {
      records.clear();
      queries.clear();
    }
    foreignCommits = count;
  }

  function include(keys: readonly string[]): void {
    for (const key of keys) {
      const others = (writers.get(key) ?? 1) - 1;
      if (others === 0) writers.delete(key);
      else writers.set(key, others);
    }
  }

  return {
    isEnabled: true,
    get(table, id) {
      if (!isCurrent) clearAfterForeignCommit();
      return records.get(keyOf(table, id));
    },
    peek(table, id) {
      if (!isCurrent) clearAfterForeignCommit();
      return tables.get(table)?.get(id);
    },
    put(table, record, size) {
      const key = keyOf(table, record.id);
      // Without a look at foreign commits in this turn, the record may have been read before one of them.
      if (!isCurrent || size > maxEntrySize || writers.has(key)) return record;
      records.set(key, deepFreeze(record), { size });
      tableOf(table).set(record.id, record);
      return record;
    },
    found(table, query) {
      if (!isCurrent) clearAfterForeignCommit();
      return queries.get(table, query);
    },
    putFound(table, query, ids) {
      if (isCurrent) queries.put(table, query, ids);
    },
    exclude(written) {
      const includeQueries = queries.exclude(new Set(written.map(({ table }) => table)));
      const keys = written.map(({ table, id }) => keyOf(table, id));
      for (const key of keys) {
        records.delete(key);
        writers.set(key, (writers.get(key) ?? 0) + 1);
      }
      return () => {
        include(keys);
        includeQueries();
      };
    },
  };
}

const keyOf = (table: string, id: string): string => `${table}/${id}`;

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
