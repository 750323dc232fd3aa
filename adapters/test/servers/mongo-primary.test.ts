import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { type Collection, LostRace, type Store, type StoredRecord } from '@commonplace/kit/store';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MongoDatabase, openMongoDatabase } from '../../src/mongo/index.js';
import { dropDatabases, onServer, mongoUrl as url } from '../../src/testing/index.js';
import { type ReplicaSet, startReplicaSet } from './replica-set.js';

interface Note extends StoredRecord {
  readonly text: string;
}
interface Count extends StoredRecord {
  readonly value: number;
}

/** What became of one write: `refused` says that nothing was written, `unknown` that it may have been. */
type Outcome = 'acknowledged' | 'refused' | 'unknown' | 'raced';

interface Written {
  readonly kind: string;
  readonly id: string;
  readonly outcome: Outcome;
}

const ELECTION_MS = 500;
/** Milliseconds of an election that takes longer than a write waits for it. */
const LONG_ELECTION_MS = 11_000;
const PROCESSES = 2;
const WRITERS = 24;
const OUTCOMES: ReadonlyMap<unknown, Outcome> = new Map([
  ['service_unavailable', 'refused'],
  ['timeout', 'unknown'],
]);

function outcomeOf(error: unknown): Outcome {
  if (error instanceof LostRace) return 'raced';
  const outcome = OUTCOMES.get((error as { reason?: unknown }).reason);
  if (outcome === undefined) throw error;
  return outcome;
}

function eventOf(id: string): DomainEvent {
  return { id, type: 'notes.note.created', subject: id, time: new Date().toISOString(), data: {} } as never;
}

async function openParts(store: Store) {
  const notes = await store.collection<Note>({ name: 'notes', indexes: [] });
  const counts = await store.collection<Count>({ name: 'counts', indexes: [] });
  return { store, notes, counts };
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** One write of each kind. `one` is a command of its own, the others are transactions. */
const KINDS: Readonly<Record<string, (parts: Parts, id: string) => Promise<void>>> = {
  one: async ({ store, notes }, id) => {
    const work = store.begin();
    work.insert(notes, { id, text: 'one' });
    await work.commit();
  },
  event: async ({ store, notes }, id) => {
    const work = store.begin();
    work.insert(notes, { id, text: 'event' });
    work.publish(eventOf(id));
    await work.commit();
  },
  counted: async ({ store, notes, counts }, id) => {
    const work = store.begin();
    work.insert(notes, { id, text: 'counted' });
    work.increment(counts, 'notes', 'value', 1, {});
    await work.commit();
  },
  replaced: async ({ store, notes }, id) => {
    const before = (await notes.get('shared')) as Note;
    const work = store.begin();
    work.insert(notes, { id, text: 'replaced' });
    work.replace(notes, before, { ...before, text: id });
    await work.commit();
  },
};

function primarySuite(): void {
  const databasePrefix = `test_${newId().slice(-12)}_`;
  let set: ReplicaSet;
  let databases: MongoDatabase[];
  let parts: Parts[];

  beforeAll(async () => {
    set = await startReplicaSet(url);
    const opening = Array.from({ length: PROCESSES }, () => openMongoDatabase({ url: set.url, databasePrefix }));
    databases = await Promise.all(opening);
    parts = await Promise.all(databases.map((database) => openParts(database.store('notes'))));
    const work = (parts[0] as Parts).store.begin();
    work.insert((parts[0] as Parts).notes, { id: 'shared', text: '' });
    await work.commit();
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await set.close();
    await dropDatabases(databasePrefix);
  });

  async function write(place: number, stopped: () => boolean, written: Written[]): Promise<void> {
    const kinds = Object.entries(KINDS);
    for (let i = place; !stopped(); i++) {
      const [kind, run] = kinds[i % kinds.length] as (typeof kinds)[number];
      const id = newId();
      const outcome = await run(parts[i % PROCESSES] as Parts, id).then(() => 'acknowledged' as const, outcomeOf);
      written.push({ kind, id, outcome });
    }
  }

  async function existing(notes: Collection<Note>, ids: readonly string[]): Promise<Set<string>> {
    return new Set((await notes.getMany(ids)).map(({ id }) => id));
  }

  /** Writes while the primary ends five times, once with an election that takes long. */
  async function writeMeanwhile(how: 'stepDown' | 'kill'): Promise<Written[]> {
    const written: Written[] = [];
    let stop = false;
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, place) => write(place, () => stop, written)));
    for (let round = 0; round < 5; round++) {
      await sleep(300);
      await set[how](round === 1 ? LONG_ELECTION_MS : ELECTION_MS);
    }
    await sleep(500);
    stop = true;
    await writing;
    return written;
  }

  test.each(['stepDown', 'kill'] as const)('no write is lost or repeated when the primary ends: %s', async (how) => {
    const written = await writeMeanwhile(how);
    const { notes, counts } = parts[0] as Parts;
    const there = await existing(notes, idsOf(written));
    const ofOutcome = (outcome: Outcome) => idsOf(written.filter((one) => one.outcome === outcome));
    expect(ofOutcome('acknowledged').filter((id) => !there.has(id))).toEqual([]);
    expect([...ofOutcome('refused'), ...ofOutcome('raced')].filter((id) => there.has(id))).toEqual([]);

    const kept = await (databases[0] as MongoDatabase).outbox('notes').kept();
    const all = new Set(idsOf(written));
    const events = kept.map(({ id }) => id).filter((id) => all.has(id));
    const withEvent = idsOf(written.filter(({ kind, id }) => kind === 'event' && there.has(id)));
    expect(events.sort()).toEqual(withEvent.sort());
    expect((await counts.get('notes'))?.value ?? 0).toBe(await notes.count({ text: 'counted' }));
    expect((await notes.get('shared'))?.version).toBe(1 + (await notes.count({ text: 'replaced' })));
  });
}

const idsOf = (written: readonly Written[]): string[] => written.map(({ id }) => id);

onServer('COMMONPLACE_MONGODB_URL', () => describe('a change of the primary of MongoDB', primarySuite));
