import { readFileSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { ConfigError } from '../config/index.js';
import { makeFolder, writeSmallFile } from '../durable/index.js';

/** A lock on a folder that no other process may use. */
export interface FolderLock {
  release(): void;
}

interface Held {
  readonly database: Libsql.Database;
  users: number;
}

/** Locks of this process, which its parts share. */
const held = new Map<string, Held>();

/** The process that holds a lock. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Time of locking, RFC 3339. */
  readonly since: string;
}

const LOCK_FILE = '.lock';
const HOLDER_FILE = '.lock.json';

/**
 * Locks a folder for this process until it ends. The lock is a file system lock, which SQLite takes on an empty
 * database: the kernel releases it when the process is gone, however it ended. Throws ConfigError, which names the
 * holder, if another process has locked it.
 */
export function lockFolder(path: string): FolderLock {
  makeFolder(path);
  const folder = realpathSync(path);
  const known = held.get(folder);
  if (known !== undefined) known.users++;
  else held.set(folder, { database: takeLock(folder), users: 1 });
  let released = false;
  return {
    release() {
      const mine = held.get(folder);
      if (released || mine === undefined) return;
      released = true;
      mine.users--;
      if (mine.users > 0) return;
      held.delete(folder);
      // The driver may close the file later than requested.
      mine.database.exec('ROLLBACK');
      mine.database.close();
    },
  };
}

function takeLock(folder: string): Libsql.Database {
  const database = new Libsql(join(folder, LOCK_FILE));
  try {
    database.exec('PRAGMA busy_timeout = 0');
    database.exec('BEGIN EXCLUSIVE');
    const holder: Holder = { pid: process.pid, host: hostname(), since: new Date().toISOString() };
    writeSmallFile(join(folder, HOLDER_FILE), `${JSON.stringify(holder)}\n`);
    return database;
  } catch (error) {
    database.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    const holder = lockHolder(folder);
    const who = holder === undefined ? '' : `: process ${holder.pid} on ${holder.host}, since ${holder.since}`;
    throw new ConfigError([`${folder} is in use by another process${who}; end that one, or name another folder`]);
  }
}

/** Returns the process that has last locked a folder; it may have ended since. */
function lockHolder(folder: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, HOLDER_FILE), 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}
