import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Collection, CollectionSpec, Condition, StoredRecord, Where } from '@commonplace/kit/store';
import { countTurns } from '@commonplace/kit/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCollection } from '../src/sqlite/collection.js';
import { type Connection, openConnection, type Param } from '../src/sqlite/file/index.js';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';
import { NO_RECORD_CACHE } from '../src/sqlite/record-cache.js';
import { tableShape } from '../src/sqlite/schema.js';

interface Note extends StoredRecord {
  readonly place: string;
  readonly state: string;
  readonly position: string;
  readonly owner?: string;
  readonly rank?: number | null;
  readonly hidden?: boolean;
  readonly above: readonly string[];
  readonly labels?: readonly (string | number | boolean)[];
}

const NOTES: CollectionSpec<Note> = {
  name: 'notes',
  indexes: [
    { fields: ['place', 'state', 'position'] },
    { fields: ['place', 'state', 'rank'] },
    { fields: ['above'], many: true },
  ],
};
/** More than the candidates of a page or of a count that are tested on the event loop. */
const COUNT = 5000;
const PAGE = 20;

const BASE = { place: 'p', state: 'active' } as const;
const FILTERS: readonly Where<Note>[] = [
  { owner: 'o1' },
  { owner: 'o4999' },
  { owner: 'nobody' },
  { owner: { in: ['o7', 'o4000'] } },
  { owner: { not: 'o1' } },
  { owner: { exists: false } },
  { rank: { exists: true } },
  { rank: 3 },
  { rank: { gt: 4990 } },
  { hidden: true },
  { hidden: { not: true } },
  { labels: { contains: 'a' } },
  { labels: { contains: 1 } },
  { labels: { containsAny: [true, '1'] } },
  { labels: 'a' },
  { above: { contains: 'few' } },
  { above: { contains: 'many' } },
  { or: [{ owner: 'o3' }, { owner: 'o4998', above: { contains: 'many' } }] },
  {
    or: [
      { owner: { in: [] } },
      { state: 'active', or: [{ id: 'n0042' }, { above: { containsAny: ['few', 'none'] } }] },
    ],
  },
  { and: [{ hidden: true }, { or: [{ rank: { not: 3 } }, { labels: { exists: true } }] }] },
  { or: [] },
  { and: [{ rank: { gt: 10 } }, { rank: { lt: 40 } }, { owner: { exists: true } }] },
  { and: [{ owner: 'o1' }, { and: [{ owner: 'o4' }] }] },
  { hidden: true, and: [{ or: [{ rank: 3 }] }, { or: [{ owner: { exists: false } }] }] },
];

let folder: string;
let database: SqliteDatabase;
let notes: Collection<Note>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commonplace-filtered-'));
  database = await openSqliteDatabase({ file: join(folder, 'a.db'), cacheChars: 2 ** 24 });
  notes = await database.store('unit').collection(NOTES);
  for (let at = 0; at < COUNT; at += 500) {
    const unit = database.store('unit').begin();
    for (let i = at; i < at + 500; i++) unit.insert(notes, noteOf(i));
    await unit.commit();
  }
});

afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

function noteOf(i: number): Omit<Note, 'version'> {
  return {
    id: `n${String(i).padStart(4, '0')}`,
    place: i % 50 === 49 ? 'q' : 'p',
    state: i % 11 === 10 ? 'gone' : 'active',
    position: String((i * 7919) % COUNT).padStart(4, '0'),
    above: [i % 2 === 0 ? 'many' : 'other', ...(i % 400 === 0 ? ['few'] : [])],
    ...(i % 3 === 0 ? {} : { owner: `o${i}` }),
    ...(i % 5 === 0 ? { rank: null } : { rank: i % 4 === 0 ? 3 : i }),
    ...(i % 7 === 0 ? { hidden: i % 2 === 0 } : {}),
    ...(i % 6 === 0 ? { labels: ['a', 1] } : i % 6 === 1 ? { labels: ['1', true] } : {}),
  };
}

/** Compares pages and counts with one large read, which SQLite filters. */
async function compare(where: Where<Note>): Promise<void> {
  for (const sort of [['position'], ['-position']] as const) {
    const all = await notes.find({ where: { ...BASE, ...where }, sort, limit: COUNT });
    for (const offset of [0, 13, all.length - 5].filter((one) => one >= 0)) {
      const page = await notes.find({ where: { ...BASE, ...where }, sort, limit: PAGE, offset });
      expect(page).toEqual(all.slice(offset, offset + PAGE));
      for (const limit of [1, 1001]) {
        const query = { where: { ...BASE, ...where }, sort, limit: PAGE, offset };
        expect(await notes.findAndCount(query, limit)).toEqual({ found: page, count: Math.min(all.length, limit) });
      }
    }
    const last = all[PAGE];
    if (last !== undefined) {
      const next = { where: { ...BASE, ...where }, sort, limit: PAGE, after: [last.position, last.id] };
      expect(await notes.find(next)).toEqual(all.slice(PAGE + 1, 2 * PAGE + 1));
    }
    for (const limit of [1, 30, 1001]) {
      expect(await notes.count({ ...BASE, ...where }, limit)).toBe(Math.min(all.length, limit));
    }
    expect(await notes.count({ ...BASE, ...where })).toBe(all.length);
  }
}

describe('one of two indexes that serve as many conditions', () => {
  interface Entry extends StoredRecord {
    readonly tenant: string;
    readonly outcome: string;
    readonly who: string;
    readonly at: number;
  }
  const ENTRIES: CollectionSpec<Entry> = {
    name: 'entries',
    indexes: [
      { fields: ['tenant', 'at'] },
      { fields: ['tenant', 'who', 'at'] },
      { fields: ['tenant', 'outcome', 'at'] },
    ],
  };

  test('is named if the candidates that it selects are few', async () => {
    const store = database.store('unit');
    const made = await store.collection(ENTRIES);
    const unit = store.begin();
    for (let at = 0; at < 1500; at++) {
      unit.insert(made, { id: `e${at}`, tenant: 't', outcome: 'success', who: `w${at % 50}`, at });
    }
    await unit.commit();
    const reader = openConnection(join(folder, 'a.db'), { readOnly: true });
    const plans: string[] = [];
    const explained = (sql: string, params: readonly Param[] = []): string => {
      plans.push(...reader.all(`EXPLAIN QUERY PLAN ${sql}`, params).map((row) => String(row[3])));
      return sql;
    };
    const watched: Connection = {
      ...reader,
      all: (sql, params) => reader.all(explained(sql, params), params),
      get: (sql, params) => reader.get(explained(sql, params), params),
    };
    const scanner = { all: () => Promise.reject(new Error('reads few candidates')), close: async () => {} };
    const entries = createCollection(
      { reader: watched, scanner, cache: NO_RECORD_CACHE },
      tableShape('unit', ENTRIES),
      ENTRIES,
    );
    const where = { tenant: 't', who: 'w7', outcome: 'success' };
    const page = await entries.find({ where, sort: ['-at'], limit: 201 });
    expect(page.map(({ at }) => at)).toEqual(Array.from({ length: 30 }, (_, i) => 1457 - i * 50));
    expect(await entries.count(where)).toBe(30);
    expect(await entries.count(where, 1001)).toBe(30);
    expect(await entries.countEach([where])).toEqual([30]);
    expect(plans.filter((plan) => plan.includes('tenant_outcome_at'))).toEqual([]);
    expect(plans.filter((plan) => plan.includes('tenant_who_at')).length).toBeGreaterThan(3);
    // A range in the order needs the index that has this order.
    plans.length = 0;
    expect(await entries.find({ where: { tenant: 't', at: { gte: 1490 } }, sort: ['at'], limit: 20 })).toHaveLength(10);
    expect(plans.at(-1)).toContain('tenant_at');
    reader.close();
  });
});

describe('pages of large records', () => {
  const WHERE = { place: 'large', state: 'active' } as const;
  const text = 'é"'.repeat(60_000);
  let large: Collection<Note>;

  beforeAll(async () => {
    large = await database.store('large').collection(NOTES);
    const unit = database.store('large').begin();
    for (let i = 0; i < 40; i++) unit.insert(large, { ...noteOf(i), ...WHERE, owner: `${i % 2}${text}` });
    await unit.commit();
  });

  test.each([
    ['by an index', WHERE],
    ['by a filter that no index serves', { ...WHERE, above: { exists: true } }],
    ['by a filter of elements', { ...WHERE, labels: { exists: false } }],
  ])('are parsed with pauses %s', async (_, where) => {
    const query = { where, sort: ['position'], limit: 40 } as const;
    expect(await countTurns(() => large.find(query))).toBeGreaterThan(1);
    expect(await countTurns(() => large.findAndCount(query, 1001))).toBeGreaterThan(1);
  });

  test('are parsed with pauses by their ids too', async () => {
    const ids = (await large.find({ where: WHERE, sort: ['position'], limit: 40 })).map(({ id }) => id);
    expect(await countTurns(() => large.getMany(ids))).toBeGreaterThan(1);
    expect((await large.getMany([...ids, 'none'])).map(({ id }) => id)).toEqual(ids);
  });

  test('have the same records in the same order', async () => {
    const query = { where: WHERE, sort: ['position'], limit: 40 } as const;
    const { found, count } = await large.findAndCount(query, 1001);
    expect(found).toEqual(await large.find(query));
    expect(found.map(({ position }) => position)).toEqual(found.map(({ position }) => position).sort());
    expect([found.length, count]).toEqual([40, 40]);
    expect(await large.find({ ...query, where: { ...WHERE, owner: `1${text}` } })).toHaveLength(20);
  });
});

describe('filters that no index serves', () => {
  test.each(FILTERS.map((where) => [JSON.stringify(where), where] as const))(
    'match the same records in a file: %s',
    async (_, where) => {
      await compare(where);
    },
  );

  test('match the same records in memory', async () => {
    await notes.getMany(Array.from({ length: COUNT }, (_, i) => noteOf(i).id));
    for (const where of FILTERS) {
      await compare(where);
      await compare({ ...where, place: 'q' });
    }
  });

  /** Runs reads of a collection, and returns the groups of those that ran in another thread. */
  async function groupsOf(
    read: (observed: Collection<Note>, groups: readonly string[], statements: readonly string[]) => Promise<void>,
    name = NOTES.name,
  ) {
    const groups: string[] = [];
    const statements: string[] = [];
    const reader = openConnection(join(folder, 'a.db'), { readOnly: true });
    const scanner = {
      all: async (group: string, ...query: Parameters<typeof reader.all>) => {
        groups.push(group);
        statements.push(query[0]);
        return reader.all(...query);
      },
      close: async () => {},
    };
    const spec = { ...NOTES, name };
    const context = { reader, scanner, cache: NO_RECORD_CACHE };
    const observed = createCollection<Note>(context, tableShape('unit', spec), spec);
    try {
      await read(observed, groups, statements);
    } finally {
      reader.close();
    }
  }

  test('run in another thread, grouped by place, if they need many candidates', async () => {
    await groupsOf(async (observed, groups) => {
      const rare = { ...BASE, owner: 'o4999' };
      await observed.find({ where: { ...BASE, hidden: true }, sort: ['position'], limit: 5 });
      await observed.find({ where: { ...rare, place: 'q' }, sort: ['position'], limit: 5 });
      await observed.count({ ...rare, place: 'q' }, 10);
      await observed.findAndCount({ where: { ...rare, place: 'q' }, sort: ['position'], limit: 5 }, 10);
      expect(groups).toEqual([]);
      await observed.find({ where: rare, sort: ['position'], limit: 5 });
      // Another index serves all of this filter, but not in the order that is asked for.
      await observed.find({ where: { ...BASE, rank: 4997 }, sort: ['position'], limit: 5 });
      await observed.count(rare, 10);
      await observed.countBy('owner', { ...BASE, hidden: true });
      expect(groups).toEqual(['p', 'p', 'p', 'p']);
      await observed.findAndCount({ where: rare, sort: ['position'], limit: 5 }, 10);
      expect(groups).toHaveLength(6);
    });
  });

  test('run in another thread if they need more candidates than are read on the event loop', async () => {
    const store = database.store('unit');
    const some = await store.collection({ ...NOTES, name: 'some_notes' });
    const unit = store.begin();
    for (let i = 0; i < 500; i++) unit.insert(some, { ...noteOf(i), place: i < 250 ? 'few' : 'q', state: 'active' });
    unit.insert(some, { ...noteOf(500), place: 'q', state: 'active' });
    await unit.commit();
    await groupsOf(async (observed, groups, statements) => {
      for (const place of ['few', 'q']) {
        await observed.find({ where: { place, state: 'active' }, sort: ['owner'], limit: 5 });
        await observed.count({ place, state: 'active', owner: 'o4' }, 1001);
        await observed.countBy('owner', { place, state: 'active' });
        await observed.findAndCount({ where: { place, owner: 'o4' }, sort: ['owner'], limit: 5 }, 1001);
      }
      // One index has all fields of this one.
      await observed.countBy('rank', { place: 'q', state: 'active' });
      expect(groups).toEqual(['q', 'q', 'q', 'q', 'q']);
      // Up to a thousand are few enough for their index to be named, as SQLite could choose one that selects more.
      const where = { place: 'q', state: 'active', owner: 'o499' };
      expect((await observed.findAndCount({ where, sort: ['position'], limit: 5 }, 1001)).count).toBe(1);
      expect(statements.slice(5)).toEqual(Array(2).fill(expect.stringContaining('INDEXED BY')));
    }, 'some_notes');
  });

  test('do not run in another thread if an index has the order, from a range of it on', async () => {
    await groupsOf(async (observed, groups) => {
      const where = { ...BASE, position: { gte: '1000', lt: '4000' } };
      const all = await observed.find({ where, sort: ['position'], limit: COUNT });
      expect(all.length).toBeGreaterThan(2000);
      expect(groups).toEqual([]);
    });
  });

  test('run in another thread also if they are written as several that must hold, or for several places', async () => {
    await groupsOf(async (observed, groups) => {
      const rare = [
        { ...BASE, and: [{ owner: 'o4996' }] },
        { and: [{ place: 'p' }, { state: 'active', owner: 'o4996' }] },
      ];
      for (const where of [...rare, { ...BASE, place: { in: ['p', 'q'] }, owner: 'o4996' }]) {
        const query = { where, sort: ['position'], limit: 5 } as const;
        const before = groups.length;
        expect(await observed.find(query)).toEqual(await notes.find({ ...query, limit: COUNT }));
        expect(await observed.count(where, 10)).toBe(1);
        expect((await observed.findAndCount(query, 10)).count).toBe(1);
        expect(groups.length - before).toBe(4);
      }
      // An index serves all of these.
      const served = { ...BASE, and: [{ position: { gt: '1000' } }, { position: { lt: '1010' } }] };
      const listed = { state: 'active', place: { in: ['p', 'q'] }, position: { gt: '1000' } };
      const before = groups.length;
      for (const where of [served, listed]) await observed.find({ where, sort: ['position'], limit: 5 });
      expect(groups).toHaveLength(before);
      // No index has the order of this one, so that all records of both places have to be sorted.
      const unsorted = { where: { place: { in: ['p', 'q'] } }, sort: ['position'], limit: 5 } as const;
      const all = await notes.find({ ...unsorted, limit: COUNT });
      expect(await observed.find(unsorted)).toEqual(all.slice(0, 5));
      expect(groups).toHaveLength(before + 1);
    });
  });

  test('stay on the event loop if alternatives have few records, however large the page may be', async () => {
    await groupsOf(async (observed, groups) => {
      const state = { in: ['active', 'gone'] };
      const query = { where: { place: { in: ['q', 'none'] }, state }, sort: ['position'], limit: 1000 } as const;
      const all = await observed.find(query);
      expect(groups).toEqual([]);
      expect(all).toHaveLength(COUNT / 50);
      expect(all).toEqual(await notes.find({ ...query, where: { place: 'q', state } }));
      await observed.find({ ...query, where: { place: { in: ['p', 'q'] }, state } });
      expect(groups).toHaveLength(1);
    });
  });

  test('run in another thread if alternatives have many candidates together', async () => {
    await groupsOf(async (observed, groups) => {
      const few: Where<Note> = { or: [{ place: 'q' }, { above: { contains: 'few' } }] };
      const many: Where<Note>[] = [
        { or: [{ place: 'q' }, { place: { in: ['p', 'none'] }, hidden: true }] },
        { or: [{ place: 'q' }, { above: { containsAny: ['few', 'many'] }, state: 'active' }] },
        { and: [{ or: [{ place: 'q' }, { or: [{ place: 'p' }, { place: 'none' }] }] }, { hidden: true }] },
        // SQLite unites at most 500 selections.
        { or: Array.from({ length: 600 }, (_, i) => ({ place: i === 0 ? 'p' : `none ${i}` })) },
      ];
      for (const where of [few, ...many]) {
        const query = { where, sort: ['owner', 'id'], limit: PAGE } as const;
        const before = groups.length;
        expect(await observed.find(query)).toEqual(
          await notes.find({ ...query, limit: 201 }).then((all) => all.slice(0, PAGE)),
        );
        expect(await observed.count(where, 10)).toBe(10);
        expect(groups.length - before).toBe(where === few ? 0 : 2);
      }
    });
  });

  test('run in another thread if many records have one of several elements, which some have together', async () => {
    await groupsOf(async (observed, groups) => {
      // Elements in this order, so that the records that have both come first.
      const where = { above: { containsAny: ['few', 'many'] }, ...BASE };
      expect(await observed.count(where)).toBe(await notes.count(where));
      expect(groups).toHaveLength(1);
    });
  });

  test('run in another thread if there are few candidates, but large ones', async () => {
    const large = await database.store('unit').collection({ ...NOTES, name: 'long_notes' });
    const unit = database.store('unit').begin();
    for (let i = 0; i < 12; i++) unit.insert(large, { ...noteOf(i), ...BASE, owner: `${i % 2}${'é"'.repeat(60_000)}` });
    await unit.commit();
    await groupsOf(async (observed, groups) => {
      const reads: (() => Promise<unknown>)[] = [
        () => observed.find({ where: BASE, sort: ['owner'], limit: 1 }),
        () => observed.find({ where: { or: [{ place: 'p' }, { place: 'q' }] }, sort: ['position'], limit: 1 }),
        () => observed.find({ where: { ...BASE, rank: { gt: 1 } }, sort: ['position'], limit: 1 }),
        () => observed.count({ ...BASE, owner: 'nobody' }, 10),
        () => observed.countBy('owner', { ...BASE, rank: { gt: 1 } }),
      ];
      // One index has all fields of these, so that the records are not read.
      await observed.countBy('rank', { ...BASE, or: [{ rank: { gt: 1 } }, { id: 'n0000' }] });
      await observed.countBy('rank', { ...BASE, or: [{ rank: { gt: 1 } }, { above: { contains: 'few' } }] });
      expect(groups).toEqual([]);
      for (const [at, read] of reads.entries()) {
        await read();
        expect(groups).toHaveLength(at + 1);
      }
    }, 'long_notes');
  });

  test('run in another thread if no index has the order and there is much to sort', async () => {
    await groupsOf(async (observed, groups) => {
      await observed.find({ where: BASE, sort: ['-position'], limit: PAGE });
      await observed.find({ where: { ...BASE, place: 'q' }, sort: ['owner'], limit: PAGE });
      expect(groups).toEqual([]);
      // Pages of more than 200 records are read without the cache.
      for (const limit of [PAGE, 201]) {
        const query = { where: BASE, sort: ['owner', 'id'], limit } as const;
        expect(await observed.find(query)).toEqual(await notes.find(query));
        await observed.findAndCount(query, 10);
      }
      expect(groups).toEqual(['p', 'p', 'p', 'p']);
    });
  });

  test('run in another thread if they read many records for a field that no index has', async () => {
    await groupsOf(async (observed, groups) => {
      await observed.countBy('rank', BASE);
      await observed.countBy('owner', { ...BASE, place: 'q' });
      expect(groups).toEqual([]);
      expect(await observed.countBy('hidden', BASE)).toEqual(await notes.countBy('hidden', BASE));
      await observed.sum('version', { place: { in: ['p', 'q'] }, state: 'active' });
      expect(groups).toHaveLength(2);
    });
  });

  test('run in another thread if no index has the order of ids and there are many', async () => {
    await groupsOf(async (observed, groups) => {
      await observed.find({ where: { ...BASE, place: 'q' }, limit: PAGE });
      expect(groups).toEqual([]);
      for (const limit of [PAGE, 201]) await observed.find({ where: BASE, limit });
      expect(groups).toEqual(['p', 'p']);
    });
  });

  test('follow the elements of an array in the order of ids', async () => {
    const many = { above: { contains: 'many' } } as const;
    const all = (await notes.find({ where: {}, limit: COUNT })).filter(({ above }) => above.includes('many'));
    const active = all.filter(({ state }) => state === 'active');
    const query = { where: many, limit: PAGE, after: ['n1000'] };
    const behind = all.filter(({ id }) => id > 'n1000');
    expect((await notes.explain(query)).plan).not.toMatch(/LIST SUBQUERY|TEMP B-TREE/);
    await groupsOf(async (observed, groups) => {
      expect(await observed.find(query)).toEqual(behind.slice(0, PAGE));
      expect(await observed.find({ where: many, limit: PAGE, offset: 7 })).toEqual(all.slice(7, PAGE + 7));
      expect(groups).toEqual([]);
    });
    expect(await notes.find({ where: { ...many, state: 'active' }, sort: ['-id'], limit: 3 })).toEqual(
      active.slice(-3).reverse(),
    );
    expect(await notes.find({ where: { ...many, id: { in: ['n0002', 'n0003'] } }, limit: 9 })).toEqual(
      all.filter(({ id }) => id === 'n0002'),
    );
  });
});

describe('pages behind a record', () => {
  const sorts = [['position'], ['-position']] as const;
  const ranges: Condition[] = [{ gte: '0500', lt: '4500' }, { gt: '0500' }, { lte: '4500' }, { prefix: '2' }];

  test.each(sorts.flatMap((sort) => ranges.map((range) => [sort[0], JSON.stringify(range), sort, range] as const)))(
    'begin at it, not at the end of the range, by %s in %s',
    async (_, __, sort, position) => {
      const where: Where<Note>[] = [
        { ...BASE, position },
        { state: 'active', place: { in: ['p', 'q'] }, position },
        {
          or: [
            { ...BASE, position },
            { ...BASE, place: 'q', position },
          ],
        },
      ];
      for (const one of where) {
        const all = await notes.find({ where: one, sort, limit: COUNT });
        const from = all[700] as Note;
        const query = { where: one, sort, limit: PAGE, after: [from.position, from.id] };
        expect(await notes.find(query)).toEqual(all.slice(701, 701 + PAGE));
        const { plan } = await notes.explain(query);
        const lookups = plan.split('\n').filter((line) => line.includes('place_state_position'));
        expect(lookups.length).toBeGreaterThan(0);
        for (const line of lookups) expect(line).toMatch(/\(_position,id\)[<>]\(\?,\?\)/);
      }
    },
  );
});
