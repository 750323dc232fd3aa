import { join } from 'node:path';
import Database from 'libsql';
import type { Ledger } from './writer.js';

/** The fields of an event that identify it. */
export interface Logged {
  readonly type: string;
  readonly subject: string;
  readonly data: { readonly workspaceId?: string; readonly version?: number };
}

export interface EventLog {
  /**
   * Returns the operations of a ledger without an event, and the events without an operation. Each call reads only new
   * events.
   */
  check(ledger: Ledger): string[];
  close(): void;
}

/** Opens the event log of a data folder while the system writes it. */
export function openEventLog(home: string): EventLog {
  const database = new Database(join(home, 'data/commonplace.db'), { readonly: true });
  const select = database.prepare('SELECT seq, doc FROM events WHERE seq > ? ORDER BY seq').raw(true);
  let place = 0;

  function readNew(): Logged[] {
    const rows = select.all(place) as [seq: number, doc: string][];
    place = rows.at(-1)?.[0] ?? place;
    return rows.map(([, doc]) => JSON.parse(doc) as Logged);
  }

  return { check: (ledger) => compareEvents(ledger, readNew()), close: () => database.close() };
}

/**
 * Returns the operations of a ledger that have no event among those given, and the events about its work area that
 * belong to no operation.
 */
export function compareEvents({ workArea, done }: Ledger, events: readonly Logged[]): string[] {
  const logged = new Map<string, number>();
  for (const { type, subject, data } of events) {
    const ofDocument = data.workspaceId === workArea.workspaceId && type.startsWith('commonplace.resources.');
    // Events about permissions, and about snapshots, which a write makes of the previous state, do not belong to
    // operations.
    if (!ofDocument || workArea.folders.includes(subject) || ASIDE.test(type)) continue;
    const key = `${type} ${subject} v${data.version}`;
    logged.set(key, (logged.get(key) ?? 0) + 1);
  }
  const faults = done.flatMap(({ operation, after }) => {
    const key = `${operation.event} ${after.id} v${after.version}`;
    const count = logged.get(key) ?? 0;
    logged.delete(key);
    return count === 1 ? [] : [`${key} is in the event log ${count} times`];
  });
  return [...faults, ...[...logged.keys()].map((key) => `${key} is in the event log, and nobody wrote it`)];
}

const ASIDE = /\.(snapshot|permission)\./;

/** Returns the findings of SQLite's integrity check for the data folder of a stopped system. */
export function checkIntegrity(home: string): string[] {
  const database = new Database(join(home, 'data/commonplace.db'));
  try {
    const rows = database.prepare('PRAGMA integrity_check').raw(true).all() as [string][];
    return rows.map(([finding]) => finding).filter((finding) => finding !== 'ok');
  } finally {
    database.close();
  }
}
