import Libsql from 'libsql';
import { AppError } from '../../errors/index.js';

/**
 * The one way to SQLite. The driver underneath ends the process on a boolean or a lone buffer, binds
 * whole numbers as REAL, cuts text at NUL and takes too few or too many parameters without a word;
 * so every statement passes here, where parameters are typed, counted and refused in words.
 */
export type Param = string | number | null | Uint8Array;
export type Cell = string | number | null | Buffer;
export type Row = readonly Cell[];

export interface Connection {
  /** All rows, each as its cells in the order of the columns. */
  all(sql: string, params?: readonly Param[]): Row[];
  get(sql: string, params?: readonly Param[]): Row | undefined;
  /** Runs a statement; gives how many rows it changed. */
  run(sql: string, params?: readonly Param[]): number;
  /** Runs statements without parameters. */
  exec(sql: string): void;
  readonly inTransaction: boolean;
  close(): void;
}

/** Statements kept prepared on one connection; the one not used for the longest goes first. */
const KEPT_STATEMENTS = 500;

interface Prepared {
  readonly statement: Libsql.Statement;
  readonly params: number;
  /** Whether it gives rows. */
  readonly reads: boolean;
}

/**
 * Opens a file, and makes it when it is missing: WAL, synced at each commit, 5 s of patience with
 * another writer, and no trust in functions that the file's own schema may name. Throws where the
 * file system does not carry these.
 */
export function openConnection(file: string, options: { readOnly?: boolean } = {}): Connection {
  const database = new Libsql(file);
  const prepared = new Map<string, Prepared>();
  // The driver gives no row to `get` where the statement gave none as a list just before: each has statements of its own.
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
      throw new TypeError(`${params.length} parameters for ${entry.params} places: ${sql}`);
    }
    return entry;
  }

  const connection: Connection = {
    all(sql, params = []) {
      const { statement } = prepare(sql, params, prepared);
      const rows = statement.all(bind(params)) as Row[];
      // The driver leaves an EXPLAIN running, and with it the snapshot that all later reads would see.
      if (/^\s*EXPLAIN/i.test(sql)) statement.get(bind(params));
      return rows;
    },
    get: (sql, params = []) => prepare(sql, params, preparedForOne).statement.get(bind(params)) as Row | undefined,
    run(sql, params = []) {
      const { statement, reads } = prepare(sql, params, prepared);
      // It would be left running too.
      if (reads) throw new TypeError(`a query is not to be run but read: ${sql}`);
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

/** Parameters as the driver may have them: whole numbers as INTEGER, all in one array. */
function bind(params: readonly Param[]): unknown[] {
  return params.map((param) => {
    checkParam(param);
    return typeof param === 'number' && Number.isSafeInteger(param) ? BigInt(param) : param;
  });
}

/** Throws at what must not reach the driver: INVALID_ARGUMENT for NUL in a text, TypeError for the rest. */
export function checkParam(param: unknown): asserts param is Param {
  if (typeof param === 'string') {
    if (param.includes('\0')) throw new AppError('INVALID_ARGUMENT', 'invalid_value', 'A text must not hold NUL.');
  } else if (typeof param === 'number') {
    if (!Number.isFinite(param)) throw new TypeError(`${param} is not a number that SQLite stores`);
  } else if (param !== null && !ArrayBuffer.isView(param)) {
    throw new TypeError(`SQLite takes no parameter of type ${typeof param}`);
  }
}

/** How many `?` a statement has. Named and numbered places are refused: they can't be counted so. */
function countParams(sql: string): number {
  const code = sql.replace(/'[^']*'|"[^"]*"/g, "''");
  if (/\?\d|[:@$][A-Za-z_]/.test(code)) throw new TypeError(`only plain ? places are taken: ${sql}`);
  return code.split('?').length - 1;
}
