import type { DomainEvent } from '@commonplace/kit/events';
import { LostRace } from '@commonplace/kit/store';
import { type ClientSession, type Collection, type Db, Timestamp } from 'mongodb';
import type { Outbox, Position } from '../events/outbox.js';
import { duplicateOf, reading, toKitError } from './errors.js';
import { createLead } from './lead.js';
import { watchInserts } from './watch-inserts.js';

/** An event in the outbox. `pending` is present until the event is published, `sentAt` from then on. */
interface Entry {
  _id: string;
  /** Logical time of the server, which never goes back: later than that of every earlier commit. */
  at: Timestamp;
  /** Position of the event within its unit. */
  n: number;
  event: string;
  pending?: true;
  sentAt?: Date;
  log?: string;
  seq?: number;
  /** Marks the last of the entries that were published together, the only one whose position is exact. */
  mark?: true;
  refused?: string;
}

/** What a unit of work needs from the outbox. */
export interface OutboxWriter {
  /** Creates what the outbox needs if it is missing; to be called before the transaction. */
  ready(): Promise<void>;
  write(events: readonly DomainEvent[], session: ClientSession): Promise<void>;
  /** Signals that events were committed. */
  committed(): void;
}

export interface MongoOutbox extends Outbox, OutboxWriter {
  /** Returns all stored events, published or not, in order. */
  kept(): Promise<DomainEvent[]>;
  close(): Promise<void>;
}

/** Seconds that published entries are kept. */
const RETENTION_SECONDS = 7 * 24 * 3600;
const MAX_BACKLOG = 10_000;
const NAME = 'outbox';
const ORDER = { at: 1, n: 1 } as const;

/**
 * Creates the outbox of one service, in the database of its records. Returns at once; collections and indexes are
 * created at first use.
 */
export function createOutbox(db: Db): MongoOutbox {
  const entries = db.collection<Entry>(NAME);
  const listeners = new Set<() => void>();
  const lead = createLead(db.collection(`${NAME}_lead`));
  const inserts = watchInserts(db, NAME, () => {
    for (const wake of listeners) wake();
  });
  let made: Promise<void> | undefined;
  const ready = (): Promise<void> => {
    made ??= prepare(db).catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
  const read = <T>(work: () => Promise<T>): Promise<T> => reading(async () => ready().then(work));
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      await ready();
      return await work();
    } catch (error) {
      throw toKitError(error, 'write');
    }
  };
  const events = (found: readonly Entry[]): DomainEvent[] => found.map(({ event }) => JSON.parse(event));
  return {
    ready,
    write: (written, session) => insertEntries(entries, written, session),
    committed: () => {
      for (const wake of listeners) wake();
    },
    kept: () => read(async () => events(await entries.find().sort(ORDER).toArray())),
    pending: (limit) =>
      read(async () => events(await entries.find({ pending: true }).sort(ORDER).limit(limit).toArray())),
    published: (sent, positions) => write(() => markPublished(entries, sent, positions)),
    refused: ({ id }, reason) =>
      write(async () => {
        await entries.updateOne({ _id: id }, { $unset: { pending: '' }, $set: { refused: reason } });
      }),
    lastPublished: (skip) =>
      read(async () => {
        const [found] = await entries
          .find({ mark: true, seq: { $exists: true } })
          .sort({ seq: -1 })
          .skip(skip)
          .limit(1)
          .toArray();
        if (found?.log === undefined || found.seq === undefined) return undefined;
        return { id: found._id, position: { log: found.log, seq: found.seq } };
      }),
    replay: (behind) =>
      write(async () => {
        const lost = behind === undefined ? { seq: { $exists: true } } : { seq: { $gt: behind.seq } };
        const change = {
          $set: { pending: true as const },
          $unset: { sentAt: '', log: '', seq: '', mark: '' } as const,
        };
        return (await entries.updateMany(lost, change)).modifiedCount;
      }),
    onCommit: (wake) => {
      listeners.add(wake);
      inserts.start();
      return () => {
        listeners.delete(wake);
        if (listeners.size === 0) inserts.stop();
      };
    },
    lead: (instance) => write(() => lead.take(instance)),
    resign: (instance) => write(() => lead.resign(instance)),
    backlog: () =>
      read(async () => {
        const pending = await entries.countDocuments({ pending: true }, { limit: MAX_BACKLOG });
        const [oldest] = events(await entries.find({ pending: true }).sort(ORDER).limit(1).toArray());
        return { pending, oldest: oldest?.time };
      }),
    close: () => inserts.stop(),
  };
}

async function prepare(db: Db): Promise<void> {
  for (const name of [NAME, `${NAME}_lead`]) {
    await db.createCollection(name).catch((error: { codeName?: string }) => {
      if (error.codeName !== 'NamespaceExists') throw error;
    });
  }
  await db.collection(NAME).createIndexes([
    { key: ORDER, name: 'pending', partialFilterExpression: { pending: true } },
    { key: { seq: 1 }, name: 'seq', sparse: true },
    { key: { sentAt: 1 }, name: 'sentAt', expireAfterSeconds: RETENTION_SECONDS },
  ]);
}

async function insertEntries(
  entries: Collection<Entry>,
  events: readonly DomainEvent[],
  session: ClientSession,
): Promise<void> {
  // The server replaces an empty timestamp in a new document by its logical time.
  const empty = new Timestamp(0n);
  try {
    await entries.insertMany(
      events.map((event, n) => ({ _id: event.id, at: empty, n, event: JSON.stringify(event), pending: true })),
      { session },
    );
  } catch (error) {
    const duplicate = duplicateOf(error);
    throw duplicate === undefined ? error : new LostRace(NAME, events[duplicate.operation]?.id ?? '');
  }
}

/**
 * Marks events as published. All of them get the position of the last one, because lost entries are searched for in
 * groups.
 */
async function markPublished(
  entries: Collection<Entry>,
  events: readonly DomainEvent[],
  positions: readonly Position[] = [],
): Promise<void> {
  const filter = { _id: { $in: events.map(({ id }) => id) } };
  const change = { $unset: { pending: '' } as const, $currentDate: { sentAt: true as const } };
  const last = positions.reduce((best, { seq }, at) => (seq > (positions[best]?.seq ?? 0) ? at : best), 0);
  const [event, position] = [events[last], positions[last]];
  if (event === undefined || position === undefined) {
    await entries.updateMany(filter, change);
    return;
  }
  // The mark is written first: without it, the loss of entries that are no longer pending would go unnoticed.
  await entries.bulkWrite([
    { updateOne: { filter: { _id: event.id }, update: { $set: { mark: true } } } },
    { updateMany: { filter, update: { ...change, $set: { log: position.log, seq: position.seq } } } },
  ]);
}
