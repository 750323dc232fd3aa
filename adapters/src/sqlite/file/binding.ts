import { closeToOthers, makePrivate } from '@commonplace/kit/durable';
import { AppError } from '@commonplace/kit/errors';
import Libsql from 'libsql';

/**
 * The only access to SQLite. The driver underneath ends the process on a boolean or a lone buffer, binds integers as
 * REAL, cuts text at NUL and silently accepts too few or too many parameters. So every statement passes through here,
 * where parameters are typed and counted, and invalid ones are refused with an error.
 */
export type Param = string | number | null | Uint8Array;
export type Cell = string | number | null | Buffer;
export type Row = readonly Cell[];

export interface Connection {
  /** Returns all rows, each as its cells in column order. */
  all(sql: string, params?: readonly Param[]): Row[];
  get(sql: string, params?: readonly Param[]): Row | undefined;
  /** Runs a statement and returns the number of rows that it changed. */
  run(sql: string, params?: readonly Param[]): number;
  /** Runs statements without parameters. */
  exec(sql: string): void;
  readonly inTransaction: boolean;
  close(): void;
}

/** Maximum number of prepared statements cached per connection; the least recently used is evicted first. */
const KEPT_STATEMENTS = 500;

interface Prepared {
  readonly statement: Libsql.Statement;
  readonly params: number;
  /** Whether the statement returns rows. */
  readonly reads: boolean;
}

/**
 * Opens a database file, and creates it, accessible to its owner only, if it is missing: in WAL mode, synced at each
 * commit, with a timeout of 5 s for another writer's lock, and without trusting functions that the file's own schema
 * may name. Throws if the file system does not support this.
 */
export function openConnection(file: string, options: { readOnly?: boolean } = {}): Connection {
  if (!options.readOnly) {
    makePrivate(file);
    // The driver creates these with the mode of the database file; older ones may exist with another mode.
    for (const beside of [`${file}-wal`, `${file}-shm`]) closeToOthers(beside);
  }
  const database = new Libsql(file);
  const prepared = new Map<string, Prepared>();
  // The driver's `get` returns no row if the same statement has just returned an empty list, so `get` and `all` use
  // separate statements.
  const preparedForOne = new Map<string, Prepared>();

  function prepare(sql: string, params: readonly Param[], kept: Map<string, Prepared>): Prepared {
    let entry = kept.get(sql);
    if (entry === undefined) {
      const statement = database.prepare(sql);
      entry = { statement, params: countParams(sql), reads: statement.reader };
      if (entry.reads) statement.raw(true);
      const [oldest] = kept.keys();
      if (kept.size >= KEPT_STATEMENTS && oldest !== undefined) kept.delete(oldest);
    } else {
      kept.delete(sql);
    }
    kept.set(sql, entry);
    if (entry.params !== params.length) {
      throw new TypeError(`${params.length} parameters for ${entry.params} placeholders: ${sql}`);
    }
    return entry;
  }

  const connection: Connection = {
    all(sql, params = []) {
      const { statement } = prepare(sql, params, prepared);
      const rows = statement.all(bind(params)) as Row[];
      // The driver leaves an EXPLAIN statement running, and with it the snapshot that all later reads would see.
      if (/^\s*EXPLAIN/i.test(sql)) statement.get(bind(params));
      return rows;
    },
    get: (sql, params = []) => prepare(sql, params, preparedForOne).statement.get(bind(params)) as Row | undefined,
    run(sql, params = []) {
      const { statement, reads } = prepare(sql, params, prepared);
      // The driver would leave this statement running too.
      if (reads) throw new TypeError(`a query must be read, not run: ${sql}`);
      return statement.run(bind(params)).changes;
    },
    exec: (sql) => void database.exec(sql),
    get inTransaction() {
      return database.inTransaction;
    },
    close() {
      prepared.clear();
      preparedForOne.clear();
      database.close();
    },
  };
  try {
    configure(connection, options.readOnly ?? false);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

function configure(connection: Connection, readOnly: boolean): void {
  connection.exec('PRAGMA busy_timeout = 5000');
  connection.exec('PRAGMA journal_mode = WAL');
  connection.exec('PRAGMA synchronous = FULL');
  connection.exec('PRAGMA trusted_schema = 0');
  connection.exec('PRAGMA cache_size = -32000');
  const mode = connection.get('PRAGMA journal_mode')?.[0];
  const synchronous = connection.get('PRAGMA synchronous')?.[0];
  if (mode !== 'wal' || synchronous !== 2) {
    throw new Error(`SQLite runs with journal_mode ${mode} and synchronous ${synchronous}, not WAL and FULL`);
  }
  if (readOnly) connection.exec('PRAGMA query_only = 1');
}

/** Converts parameters to what the driver accepts: integers as INTEGER, all in one array. */
function bind(params: readonly Param[]): unknown[] {
  return params.map((param) => {
    checkParam(param);
    return typeof param === 'number' && Number.isSafeInteger(param) ? BigInt(param) : param;
  });
}

/**
 * Checks that a value may be passed to the driver. Throws INVALID_ARGUMENT for a text with NUL, TypeError for other
 * values.
 */
export function checkParam(param: unknown): asserts param is Param {
  if (typeof param === 'string') {
    if (param.includes('\0'))
      throw new AppError('INVALID_ARGUMENT', 'invalid_value', 'A text must not contain the character NUL.');
  } else if (typeof param === 'number') {
    if (!Number.isFinite(param)) throw new TypeError(`${param} is not a number that SQLite stores`);
  } else if (param !== null && !ArrayBuffer.isView(param)) {
    throw new TypeError(`SQLite accepts no parameter of type ${typeof param}`);
  }
}

/**
 * Returns the number of `?` placeholders in a statement. Throws TypeError for named and numbered ones, which cannot be
 * counted this way.
 */
function countParams(sql: string): number {
  const code = sql.replace(/'[^']*'|"[^"]*"/g, "''");
  if (/\?\d|[:@$][A-Za-z_]/.test(code)) throw new TypeError(`only plain ? placeholders are supported: ${sql}`);
  return code.split('?').length - 1;
}
