import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Collection, Query, Scalar, StoredRecord } from '@commonplace/kit/store';
import { keyset } from '@commonplace/kit/store';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';

interface Page extends StoredRecord {
  readonly space: string;
  readonly state: string;
  readonly rank: number;
}

let folder: string;
let database: SqliteDatabase;
let pages: Collection<Page>;
const RECORDS = Array.from({ length: 200 }, (_, n) => ({
  id: `p${(n * 71) % 200}`,
  space: `s${n % 7}`,
  state: n % 3 === 0 ? 'open' : 'shut',
  rank: (n * 13) % 20,
}));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commonplace-merge-'));
  database = await openSqliteDatabase({ file: join(folder, 'a.db') });
  const store = database.store('unit');
  pages = await store.collection<Page>({
    name: 'pages',
    indexes: [{ fields: ['state', 'space', 'rank'] }, { fields: ['space'] }],
  });
  const unit = store.begin();
  for (const record of RECORDS) unit.insert(pages, record);
  await unit.commit();
});

afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

function expected(states: readonly string[], spaces: readonly Scalar[], sort: readonly string[]): string[] {
  const down = sort[0]?.startsWith('-') ? -1 : 1;
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  return RECORDS.filter(({ state, space }) => states.includes(state) && spaces.includes(space))
    .sort((a, b) => down * (sort.length > 0 ? a.rank - b.rank || byId(a, b) : byId(a, b)))
    .map(({ id }) => id);
}

async function walk(query: Query<Page>): Promise<string[]> {
  const found = await pages.find(query);
  const last = found.at(-1);
  if (last === undefined) return [];
  return [...found.map(({ id }) => id), ...(await walk({ ...query, after: keyset(last, query.sort) }))];
}

describe('several values together with an order', () => {
  const spaces = [
    ['s1', 's4'],
    ['s1', 's2', 's6'],
    ['s0', 's0', 's3', 'none', 's5'],
    RECORDS.map(({ space }) => space),
  ];

  test.each(spaces)('are merged, page by page', async (...values) => {
    for (const sort of [['rank'], ['-rank']] as const) {
      const query = { where: { state: 'open', space: { in: values } }, sort, limit: 7 };
      expect(await walk(query)).toEqual(expected(['open'], values, sort));
      const { indexed, plan } = await pages.explain(query);
      expect([indexed, plan]).toEqual([true, expect.stringContaining('MERGE')]);
      const tail = await pages.find({ ...query, offset: 5, limit: 100 });
      expect(tail.map(({ id }) => id)).toEqual(expected(['open'], values, sort).slice(5));
    }
  });

  test('are merged by id if no order is requested', async () => {
    const query = { where: { space: { in: ['s1', 's5'] } }, limit: 7 };
    expect(await walk(query)).toEqual(expected(['open', 'shut'], ['s1', 's5'], []));
  });

  test('keep the other conditions, also those on the same field', async () => {
    const where = {
      state: 'shut',
      space: { in: ['s1', 's2', 's3'], gt: 's1' },
      rank: { gte: 5 },
      or: [{ rank: 6 }, { rank: 9 }],
    };
    const found = await pages.find({ where, sort: ['rank'], limit: 99 });
    const wanted = RECORDS.filter(
      (r) => r.state === 'shut' && ['s2', 's3'].includes(r.space) && [6, 9].includes(r.rank),
    );
    expect(wanted.length).toBeGreaterThan(0);
    expect(found.map(({ id }) => id).sort()).toEqual(wanted.map(({ id }) => id).sort());
    expect(await pages.count(where)).toBe(wanted.length);
  });

  test('are sorted if no index serves', async () => {
    const query = { where: { space: { in: ['s1', 's5'] } }, sort: ['rank'] as const, limit: 99 };
    expect(await walk(query)).toEqual(expected(['open', 'shut'], ['s1', 's5'], ['rank']));
    expect(await pages.explain(query)).toMatchObject({ indexed: false });
  });
});

describe('alternatives together with an order', () => {
  const where = {
    or: [
      { state: 'open', space: { in: ['s1', 's4'] } },
      { state: { in: ['open', 'shut'] }, space: 's4', rank: { gte: 5 } },
      { state: 'shut', space: 's5', rank: { not: 12 } },
    ],
  };
  const isFound = ({ state, space, rank }: (typeof RECORDS)[number]) =>
    (state === 'open' && ['s1', 's4'].includes(space)) ||
    (space === 's4' && rank >= 5) ||
    (state === 'shut' && space === 's5' && rank !== 12);

  test.each([[['rank']], [['-rank']]] as const)('are merged, page by page: %j', async (sort) => {
    const down = sort[0] === '-rank' ? -1 : 1;
    const wanted = RECORDS.filter(isFound)
      .sort((a, b) => down * (a.rank - b.rank || (a.id < b.id ? -1 : 1)))
      .map(({ id }) => id);
    expect(await walk({ where, sort, limit: 7 })).toEqual(wanted);
    const tail = await pages.find({ where, sort, offset: 20, limit: 100 });
    expect(tail.map(({ id }) => id)).toEqual(wanted.slice(20));
    const { indexed, plan } = await pages.explain({ where, sort, limit: 7 });
    expect([indexed, plan]).toEqual([true, expect.stringContaining('RECURSIVE STEP')]);
  });

  test('are merged by an index that has only some of the records', async () => {
    const store = database.store('unit');
    const few = await store.collection<Page>({
      name: 'few_pages',
      indexes: [{ fields: ['state', 'space', 'rank'], sparse: true }],
    });
    const unit = store.begin();
    for (const { rank, ...record } of RECORDS) unit.insert(few, rank < 3 ? { ...record, rank } : (record as Page));
    await unit.commit();
    const where = { state: { in: ['open', 'shut'] }, space: { in: ['s1', 's4'] } };
    const found = await few.find({ where, sort: ['rank'], limit: 1000 });
    const wanted = expected(['open', 'shut'], ['s1', 's4'], ['rank']);
    expect(found.map(({ id }) => id)).toEqual(
      wanted.filter((id) => RECORDS.some((record) => record.id === id && record.rank < 3)),
    );
  });

  test('are merged also for many values', async () => {
    const spaces = ['s1', 's5', ...Array.from({ length: 600 }, (_, n) => `none ${n}`)];
    const query = { where: { state: 'open', space: { in: spaces } }, sort: ['-rank'] as const, limit: 7 };
    expect(await walk(query)).toEqual(expected(['open'], spaces, ['-rank']));
    expect(await pages.explain(query)).toMatchObject({ indexed: true });
  });

  test('leave out those that match nothing, so that an index serves the others', async () => {
    const nothing = [{ space: { in: [] } }, { state: 'open', or: [] }];
    const { plan } = await pages.explain({ where: { or: [...nothing, { id: 'p7' }] }, limit: 7 });
    expect(plan).not.toContain('SCAN unit__pages');
    expect(await walk({ where: { or: [...nothing, { id: 'p7' }] }, limit: 7 })).toEqual(['p7']);
  });

  test('are sorted if no index has the order of one of them', async () => {
    const query = { where: { or: [...where.or, { space: 's6' }] }, sort: ['rank'] as const, limit: 7 };
    expect(await walk(query)).toHaveLength(RECORDS.filter((one) => isFound(one) || one.space === 's6').length);
    expect(await pages.explain(query)).toMatchObject({ indexed: false });
  });
});
