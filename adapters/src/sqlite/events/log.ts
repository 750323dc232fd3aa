import type { DomainEvent, ParkedEvent } from '@commonplace/kit/events';
import { nextTurn } from '@commonplace/kit/slices';
import { afterPrefix } from '../../store/prefix.js';
import type { Connection, Param, Row } from '../file/binding.js';
import type { Step } from '../file/writer-protocol.js';

/**
 * Tables of the event log, which is both the outbox of every service and the bus. `seq` orders the events; a consumer's
 * `seq` is the last event that it has handled. `due` marks parked events that are to be delivered again.
 */
export const EVENT_TABLES: readonly string[] = [
  'CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, ' +
    'type TEXT NOT NULL, at INTEGER NOT NULL, doc TEXT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS consumers (name TEXT PRIMARY KEY, types TEXT NOT NULL, seq INTEGER NOT NULL, ' +
    'at INTEGER NOT NULL)',
  'CREATE TABLE IF NOT EXISTS parked (consumer TEXT NOT NULL, seq INTEGER NOT NULL, attempts INTEGER NOT NULL, ' +
    'error TEXT NOT NULL, due INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (consumer, seq))',
];

/** An event on its way to a consumer. */
export interface Item {
  readonly seq: number;
  readonly event: DomainEvent;
  /** The event was parked and is delivered again; the consumer's position does not depend on it. */
  readonly due: boolean;
  attempts: number;
  waits: number;
}

/** Returns the step that appends an event; an event whose id exists already changes nothing. */
export function appendStep(event: DomainEvent): Step {
  const sql = 'INSERT INTO events (id, type, at, doc) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING';
  return [sql, [event.id, event.type, Date.now(), JSON.stringify(event)], 'any'];
}

/** Returns the step that registers a consumer; a new one starts at the beginning or the end of the log. */
export function registerStep(consumer: string, types: readonly string[], from: 'start' | 'now'): Step {
  const seq = from === 'start' ? '0' : '(SELECT coalesce(max(seq), 0) FROM events)';
  const sql =
    `INSERT INTO consumers (name, types, seq, at) VALUES (?, ?, ${seq}, ?) ` +
    'ON CONFLICT (name) DO UPDATE SET types = excluded.types, at = excluded.at';
  return [sql, [consumer, JSON.stringify(types), Date.now()], 'change'];
}

export function placeStep(consumer: string, seq: number): Step {
  return ['UPDATE consumers SET seq = max(seq, ?), at = ? WHERE name = ?', [seq, Date.now(), consumer], 'any'];
}

export function parkStep(consumer: string, item: Item, error: string): Step {
  const sql =
    'INSERT INTO parked (consumer, seq, attempts, error, due, doc) VALUES (?, ?, ?, ?, 0, ?) ON CONFLICT (consumer, seq) ' +
    'DO UPDATE SET attempts = excluded.attempts, error = excluded.error, due = 0';
  return [sql, [consumer, item.seq, item.attempts, error, JSON.stringify(item.event)], 'change'];
}

export function unparkStep(consumer: string, eventIds?: readonly string[]): Step {
  const { sql, params } = parkedCondition(consumer, eventIds);
  return [`UPDATE parked SET due = 1 WHERE ${sql}`, params, 'any'];
}

export function dropParkedStep(consumer: string, eventIds?: readonly string[]): Step {
  const { sql, params } = parkedCondition(consumer, eventIds);
  return [`DELETE FROM parked WHERE ${sql}`, params, 'any'];
}

/** Returns a condition for a consumer's parked events: all of them, or those with the given ids. */
function parkedCondition(consumer: string, eventIds?: readonly string[]): { sql: string; params: Param[] } {
  const sql = 'consumer = ? AND due = 0';
  if (eventIds === undefined) return { sql, params: [consumer] };
  const some = "json_extract(doc, '$.id') IN (SELECT value FROM json_each(?))";
  return { sql: `${sql} AND ${some}`, params: [consumer, JSON.stringify(eventIds)] };
}

export function forgetParkedStep(consumer: string, seq: number): Step {
  return ['DELETE FROM parked WHERE consumer = ? AND seq = ?', [consumer, seq], 'any'];
}

/** Returns a condition on `type` that is equivalent to `matchesType`. */
function typeCondition(types: readonly string[]): { sql: string; params: Param[] } {
  const params: Param[] = [];
  const ways = types.map((type) => {
    if (!type.endsWith('.>')) {
      params.push(type);
      return 'type = ?';
    }
    const prefix = type.slice(0, -1);
    params.push(prefix, afterPrefix(prefix) ?? prefix);
    return '(type >= ? AND type < ?)';
  });
  return { sql: ways.length === 0 ? '0' : `(${ways.join(' OR ')})`, params };
}

/** Returns the last position in the log; 0 if it is empty. */
export function lastSeq(reader: Connection): number {
  return (reader.get('SELECT max(seq) FROM events')?.[0] as number | null) ?? 0;
}

/** Returns events of some types after one position and up to another, in order. */
export function readLog(
  reader: Connection,
  types: readonly string[],
  after: number,
  to: number,
  limit: number,
): Item[] {
  const { sql, params } = typeCondition(types);
  const page = `SELECT seq, doc, 0, 0 FROM events WHERE seq > ? AND seq <= ? AND ${sql} ORDER BY seq LIMIT ?`;
  return reader.all(page, [after, to, ...params, limit]).map(itemOf);
}

/** Returns the first parked event that is to be delivered again, if any. */
export function readDue(reader: Connection, consumer: string): Item[] {
  const first = 'SELECT seq, doc, 1, 0 FROM parked WHERE consumer = ? AND due = 1 ORDER BY seq LIMIT 1';
  const row = reader.get(first, [consumer]);
  return row === undefined ? [] : [itemOf(row)];
}

function itemOf([seq, doc, due, attempts]: Row): Item {
  return {
    seq: seq as number,
    event: JSON.parse(doc as string) as DomainEvent,
    due: due === 1,
    attempts: attempts as number,
    waits: 0,
  };
}

export interface Place {
  readonly types: readonly string[];
  readonly seq: number;
}

/** Returns a consumer's position; undefined if it was never registered. */
export function readPlace(reader: Connection, consumer: string): Place | undefined {
  const row = reader.get('SELECT types, seq FROM consumers WHERE name = ?', [consumer]);
  return row && { types: JSON.parse(row[0] as string) as string[], seq: row[1] as number };
}

/** Returns the number of events after a position, plus the parked events that are to be delivered again. */
export async function countWaiting(reader: Connection, consumer: string, { types, seq }: Place): Promise<number> {
  const { sql, params } = typeCondition(types);
  const some = `SELECT count(*) FROM events WHERE seq > ? AND seq <= ? AND ${sql}`;
  let count = 0;
  for await (const { after, to } of windowsOf(seq, lastSeq(reader))) {
    count += reader.get(some, [after, to, ...params])?.[0] as number;
  }
  const due = reader.get('SELECT count(*) FROM parked WHERE consumer = ? AND due = 1', [consumer]);
  return count + (due?.[0] as number);
}

/** Returns the position of the first event of some types after a position, and up to another. */
export async function firstWaiting(
  reader: Connection,
  { types, seq }: Place,
  last = lastSeq(reader),
): Promise<number | undefined> {
  const { sql, params } = typeCondition(types);
  const first = `SELECT seq FROM events WHERE seq > ? AND seq <= ? AND ${sql} ORDER BY seq LIMIT 1`;
  for await (const { after, to } of windowsOf(seq, last)) {
    const row = reader.get(first, [after, to, ...params]);
    if (row !== undefined) return row[0] as number;
  }
  return undefined;
}

/** Maximum number of positions that a statement scans: about a millisecond, as no index has the types of events. */
const WINDOW = 500;
/** Number of positions that are scanned without a pause before. */
const FEW = 50;

/**
 * Yields the positions after one and up to another, as many at a time as a statement may scan. All consumers are woken
 * at once, so each begins a long scan in a turn of its own.
 */
export async function* windowsOf(
  seq: number,
  last: number,
): AsyncGenerator<{ readonly after: number; readonly to: number }> {
  for (let after = seq; after < last; ) {
    const to = Math.min(after + WINDOW, last);
    if (to - after > FEW) await nextTurn();
    yield { after, to };
    after = to;
  }
}

export function countParked(reader: Connection, consumer: string): number {
  return Number(reader.get('SELECT count(*) FROM parked WHERE consumer = ? AND due = 0', [consumer])?.[0] ?? 0);
}

export function readConsumers(reader: Connection): string[] {
  const names = 'SELECT name FROM consumers UNION SELECT consumer FROM parked WHERE due = 0 ORDER BY 1';
  return reader.all(names).map(([name]) => String(name));
}

export function readParkedConsumers(reader: Connection): string[] {
  return reader
    .all('SELECT DISTINCT consumer FROM parked WHERE due = 0 ORDER BY consumer')
    .map(([name]) => String(name));
}

export function readParked(reader: Connection, consumer: string): ParkedEvent[] {
  const parked = 'SELECT doc, attempts, error FROM parked WHERE consumer = ? AND due = 0 ORDER BY seq';
  return reader.all(parked, [consumer]).map(([doc, attempts, error]) => ({
    event: JSON.parse(doc as string) as DomainEvent,
    attempts: attempts as number,
    error: error as string,
  }));
}
