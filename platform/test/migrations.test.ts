import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { inWork, type Store } from '@commonplace/kit/store';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { addFields, formatOf, type Migration, migrate, repeatMigrations, requireFormat } from '../src/runtime/index.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await openTestDatabase();
});
afterEach(async () => {
  await database.close();
});

interface Held {
  readonly id: string;
  readonly version: number;
  readonly holder?: string;
  readonly heldUntil?: string;
}

/** A store that other processes write to as well. */
const store = (): Store => ({ ...database.store('notes'), isExclusive: false });

function recorded(...names: string[]) {
  const ran: string[] = [];
  const migrations: Migration[] = names.map((name) => ({ name, run: async () => void ran.push(name) }));
  return { ran, migrations };
}

test('a store records the format of the first release that opens it', async () => {
  await requireFormat('notes', store(), []);
  expect(await formatOf(store(), [])).toEqual({ format: 1, latest: 1, pending: [] });
  const { ran, migrations } = recorded('one');
  await requireFormat('others', database.store('others'), migrations);
  expect(ran).toEqual(['one']);
  expect(await formatOf(database.store('others'), migrations)).toMatchObject({ format: 2, pending: [] });
});

test('a service does not start on data that must be migrated first, nor on data of a newer release', async () => {
  await requireFormat('notes', store(), []);
  const { ran, migrations } = recorded('one', 'two');
  await expect(requireFormat('notes', store(), migrations)).rejects.toThrow(
    /notes must be migrated first \(one, two\)/,
  );
  expect(ran).toEqual([]);
  expect(await migrate(store(), migrations)).toEqual(['one', 'two']);
  expect(await migrate(store(), migrations)).toEqual([]);
  await requireFormat('notes', store(), migrations);
  await expect(requireFormat('notes', store(), migrations.slice(0, 1))).rejects.toThrow(/newer release/);
  await expect(migrate(store(), [])).rejects.toThrow(/newer release/);
  expect(ran).toEqual(['one', 'two']);
});

test('a store that no other process writes to is migrated at the start', async () => {
  const own = database.store('own');
  await requireFormat('own', own, []);
  const { ran, migrations } = recorded('one', 'two');
  await requireFormat('own', own, migrations);
  await requireFormat('own', own, migrations);
  expect([ran, (await formatOf(own, migrations)).pending]).toEqual([['one', 'two'], []]);
  await expect(requireFormat('own', own, [])).rejects.toThrow(/own has stored is of a newer release/);
});

test('fields are added to all records, and only to those that lack them', async () => {
  interface Note {
    readonly id: string;
    readonly version: number;
    readonly text: string;
    readonly size?: number;
  }
  const spec = { name: 'notes', indexes: [] };
  const notes = await store().collection<Note>(spec);
  const all = Array.from({ length: 450 }, (_, i) => ({ id: `${i}`, text: 'x'.repeat(i) }));
  await inWork(store(), async (work) => {
    for (const note of all) work.insert(notes, note.id === '7' ? { ...note, size: 7 } : note);
  });
  for (let run = 0; run < 2; run++) await addFields<Note>(store(), spec, ({ text }) => ({ size: text.length }));
  const found = await notes.getMany(all.map(({ id }) => id));
  expect(found).toEqual(all.map((note, i) => ({ ...note, size: i, version: i === 7 ? 1 : 2 })));
});

test('an interrupted migration runs again, and a completed one does not', async () => {
  await requireFormat('notes', store(), []);
  const { ran, migrations } = recorded('one', 'two', 'three');
  let broken = true;
  const failing = migrations.map((migration) => ({
    ...migration,
    run: async () => {
      if (migration.name === 'two' && broken) throw new Error('cut off');
      await migration.run(store());
    },
  }));
  await expect(migrate(store(), failing)).rejects.toThrow('cut off');
  expect((await formatOf(store(), failing)).pending).toEqual(['two', 'three']);
  broken = false;
  // Another process was killed during the migration some time ago.
  const formats = await store().collection<Held>({ name: 'store_format', indexes: [] });
  const record = await formats.get('format');
  if (record === undefined) throw new Error('nothing is noted');
  expect(record.holder).toBeUndefined();
  const work = store().begin();
  work.replace(formats, record, { ...record, holder: 'killed', heldUntil: '2000-01-01T00:00:00.000Z' });
  await work.commit();
  expect(await migrate(store(), failing)).toEqual(['two', 'three']);
  expect(ran).toEqual(['one', 'two', 'three']);
});

test('of several processes at once one runs each migration, and all find it done', async () => {
  await requireFormat('notes', store(), []);
  const { ran, migrations } = recorded('one', 'two');
  const slow = migrations.map((migration) => ({
    ...migration,
    run: async () => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      await migration.run(store());
    },
  }));
  const outcomes = await Promise.all([1, 2, 3].map(() => migrate(store(), slow)));
  expect(ran).toEqual(['one', 'two']);
  expect(outcomes.flat().sort()).toEqual(['one', 'two']);
});

test('a migration is repeated for an hour, by one of several processes every five minutes', async () => {
  await requireFormat('notes', store(), []);
  const { ran, migrations } = recorded('one', 'two', 'three');
  await migrate(store(), migrations.slice(0, 1));
  await setMigratedAt('2000-01-01T00:00:00.000Z');
  await migrate(store(), migrations);
  ran.length = 0;
  const repeat = (minutes: number, known = migrations) =>
    repeatMigrations(store(), known, Date.now() + minutes * 60_000 + 1000);
  expect(await repeat(4)).toEqual([]);
  expect(await repeat(5, migrations.slice(0, 2))).toEqual([]);
  expect((await Promise.all([repeat(5), repeat(5), repeat(5)])).flat()).toEqual(['two', 'three']);
  expect(await repeat(9)).toEqual([]);
  expect(await repeat(11)).toEqual(['two', 'three']);
  expect(await repeat(60)).toEqual([]);
  expect(ran).toEqual(['two', 'three', 'two', 'three']);
  expect(await formatOf(store(), migrations)).toEqual({ format: 4, latest: 4, pending: [] });
});

/** Lets the last migration have ended at another time. */
async function setMigratedAt(migratedAt: string): Promise<void> {
  const formats = await store().collection<Held>({ name: 'store_format', indexes: [] });
  await inWork(store(), async (work) => {
    const record = await formats.get('format');
    if (record !== undefined) work.replace(formats, record, { ...record, migratedAt } as Held);
  });
}
