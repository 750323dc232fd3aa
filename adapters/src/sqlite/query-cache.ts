import { LRUCache } from 'lru-cache';

/**
 * Keeps the ids that queries have found, so that repeating a query needs no SQLite until its table is written to. While a
 * unit that writes to a table is being committed, nothing is kept for that table, because only the file knows whether it
 * has taken effect.
 */
export interface QueryCache {
  /** Returns the ids that were kept for a query to a table; undefined if there are none that are still current. */
  get(table: string, query: string): readonly string[] | undefined;
  /** Keeps the ids that a query has found in the file in this turn of the event loop. */
  put(table: string, query: string, ids: readonly string[]): void;
  /** Drops the queries of tables and keeps none until the returned function is called. */
  exclude(tables: ReadonlySet<string>): () => void;
  clear(): void;
}

interface Table {
  /** Number of units that have begun to write to the table. The result of an earlier generation is out of date. */
  generation: number;
  /** Number of units that are writing to it now. */
  writers: number;
}

interface Result {
  readonly generation: number;
  readonly ids: readonly string[];
}

/** Creates a cache of queries, with up to `chars` characters of queries and ids. */
export function createQueryCache(chars: number): QueryCache {
  const maxSize = Math.max(1, Math.floor(chars));
  const results = new LRUCache<string, Result>({ maxSize, maxEntrySize: maxSize });
  const tables = new Map<string, Table>();

  function tableOf(name: string): Table {
    let table = tables.get(name);
    if (table === undefined) {
      table = { generation: 0, writers: 0 };
      tables.set(name, table);
    }
    return table;
  }

  return {
    get(table, query) {
      const result = results.get(keyOf(table, query));
      return result?.generation === tableOf(table).generation ? result.ids : undefined;
    },
    put(table, query, ids) {
      const { generation, writers } = tableOf(table);
      if (writers > 0) return;
      const size = ids.reduce((sum, id) => sum + id.length, query.length + 1);
      results.set(keyOf(table, query), { generation, ids }, { size });
    },
    exclude(names) {
      const written = Array.from(names, tableOf);
      for (const table of written) {
        table.generation++;
        table.writers++;
      }
      return () => {
        for (const table of written) table.writers--;
      };
    },
    clear: () => results.clear(),
  };
}

const keyOf = (table: string, query: string): string => `${table} ${query}`;
