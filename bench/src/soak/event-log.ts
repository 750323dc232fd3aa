import { join } from 'node:path';
import Database from 'libsql';
import type { Ledger } from './writer.js';

/** Of an event, what tells it from others. */
export interface Logged {
  readonly type: string;
  readonly subject: string;
  readonly data: { readonly workspaceId?: string; readonly version?: number };
}

export interface EventLog {
  /** Tells which operations of a ledger have no event, and which events no operation. Reads each event once. */
  check(ledger: Ledger): string[];
  close(): void;
}

/** The event log of a data folder, read beside the system that writes it. */
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

/** Which operations of a ledger have no event among some, and which events about its ground no operation. */
export function compareEvents({ ground, done }: Ledger, events: readonly Logged[]): string[] {
  const logged = new Map<string, number>();
  for (const { type, subject, data } of events) {
    const ofDocument = data.workspaceId === ground.workspaceId && type.startsWith('commonplace.resources.');
    // What a write keeps of the state before is its own affair, not an operation; nor is what others may do.
    if (!ofDocument || ground.folders.includes(subject) || ASIDE.test(type)) continue;
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

/** What SQLite finds wrong with the file of a data folder whose system has ended. */
export function checkIntegrity(home: string): string[] {
  const database = new Database(join(home, 'data/commonplace.db'));
  try {
    const rows = database.prepare('PRAGMA integrity_check').raw(true).all() as [string][];
    return rows.map(([finding]) => finding).filter((finding) => finding !== 'ok');
  } finally {
    database.close();
  }
}
