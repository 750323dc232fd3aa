import { expect } from '@jest/globals';
import { keyset } from '../../store/cursor.js';
import type { Collection, Scalar, Sort, Where } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import { openTurns } from '../suite/turns.js';
import { type Bench, compareValues, type Draft, ids, type Thing } from './harness.js';

/**
 * Names whose order depends on the comparison: UTF-16 code units would put the emoji before U+FF5E, a locale `a` before
 * `B`.
 */
const NAMES = [
  '',
  ' ',
  '!',
  '1',
  '10',
  '2',
  'A',
  'B',
  'Z',
  '_',
  'a',
  'aa',
  'b',
  'z',
  '~',
  'Ä',
  'é',
  '漢',
  '\uFF5E',
  '😀',
];

const SORTS: readonly Sort<Thing>[] = [
  [],
  ['id'],
  ['-id'],
  ['name'],
  ['-name'],
  ['rank'],
  ['-rank'],
  ['active', '-rank'],
  ['kind', 'rank'],
  ['-kind', '-rank'],
  ['kind', '-rank'],
  ['-kind', 'rank', '-name'],
];

function drafts(): Draft[] {
  return Array.from({ length: 60 }, (_, at) => ({
    id: `${'zyxab'[at % 5]}${String((at * 37) % 60).padStart(2, '0')}`,
    tenant: at % 2 === 0 ? 'even' : 'odd',
    name: NAMES[at % NAMES.length],
    kind: ['doc', 'Doc', 'table'][at % 3],
    rank: [3, -1, 20, 3, 0.5, 100][at % 6],
    active: at % 4 === 0,
  }));
}

function sorted(records: readonly Thing[], sort: Sort<Thing>): Thing[] {
  const last = sort.at(-1)?.startsWith('-') ? ('-id' as const) : ('id' as const);
  return [...records].sort((a, b) => {
    for (const field of [...sort, last]) {
      const name = field.replace(/^-/, '') as keyof Thing;
      const order = compareValues(a[name], b[name]);
      if (order !== 0) return field.startsWith('-') ? -order : order;
    }
    return 0;
  });
}

async function walk(all: Collection<Thing>, where: Where<Thing>, sort: Sort<Thing>, limit: number): Promise<string[]> {
  const seen: string[] = [];
  for (let after: Scalar[] | undefined; ; ) {
    const page = await all.find({ where, sort, limit, after });
    expect(page.length).toBeLessThanOrEqual(limit);
    seen.push(...ids(page));
    const last = page.at(-1);
    if (last === undefined) return seen;
    after = keyset(last, sort);
  }
}

/** Runs a read, and returns in how many turns of the event loop it has parsed JSON. */
async function countTurnsOfParsing(read: () => Promise<unknown>): Promise<number> {
  const { parse } = JSON;
  const turns = openTurns();
  const seen = new Set<number>();
  JSON.parse = (...args: Parameters<typeof parse>) => {
    seen.add(turns.now());
    return parse(...args);
  };
  try {
    await read();
  } finally {
    JSON.parse = parse;
    turns.end();
  }
  return seen.size;
}

export function pagingDuties(duty: Duties, use: () => Bench): void {
  duty('other requests run while large records are read', async () => {
    const { fill, things } = use();
    const all = await things();
    const rows = Array.from({ length: 8000 }, (_, at) => ({ at, text: `Row ${at}` }));
    const records = await fill(
      all,
      Array.from({ length: 20 }, (_, at) => ({ id: `id-${at}`, body: { rows } })),
    );
    expect(await countTurnsOfParsing(() => all.find({ where: {}, sort: ['id'], limit: 99 }))).toBeGreaterThan(3);
    expect(await countTurnsOfParsing(() => all.getMany(ids(records)))).toBeGreaterThan(3);
    expect(
      await countTurnsOfParsing(() => all.getMany([...ids(records), ...drafts().map(({ id }) => id)])),
    ).toBeGreaterThan(3);
  });

  duty('text is ordered by code points', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(
      all,
      [...NAMES].reverse().map((name, at) => ({ id: `id-${at}`, name })),
    );
    const found = await all.find({ where: {}, sort: ['name'], limit: 99 });
    expect(found.map((record) => record.name)).toEqual(NAMES);
    const down = await all.find({ where: {}, sort: ['-name'], limit: 99 });
    expect(down.map((record) => record.name)).toEqual([...NAMES].reverse());
  });

  duty('ids break ties in the direction of the last field', async () => {
    const { fill, things } = use();
    const all = await things();
    const records = await fill(all, drafts());
    for (const sort of SORTS) {
      const found = await all.find({ where: {}, sort, limit: 99 });
      expect([sort, ids(found)]).toEqual([sort, ids(sorted(records, sort))]);
    }
    expect(ids(await all.find({ where: {}, limit: 99 }))).toEqual(ids(sorted(records, [])));
  });

  duty('pages by keyset together form the whole list', async () => {
    const { fill, things } = use();
    const all = await things();
    const records = await fill(all, drafts());
    for (const sort of SORTS) {
      expect([sort, await walk(all, {}, sort, 7)]).toEqual([sort, ids(sorted(records, sort))]);
    }
    expect(await walk(all, {}, ['-rank'], 1)).toEqual(ids(sorted(records, ['-rank'])));
  });

  duty('pages by keyset respect the filter', async () => {
    const { fill, things } = use();
    const all = await things();
    const records = await fill(all, drafts());
    const where: Where<Thing> = { tenant: 'odd', or: [{ kind: 'doc' }, { rank: { gte: 3 } }] };
    const matching = records.filter((r) => r.tenant === 'odd' && (r.kind === 'doc' || (r.rank ?? 0) >= 3));
    for (const sort of SORTS) {
      expect([sort, await walk(all, where, sort, 4)]).toEqual([sort, ids(sorted(matching, sort))]);
    }
  });

  duty('a keyset stays valid after its record is deleted and others are inserted', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(
      all,
      ['a', 'c', 'e', 'g'].map((id) => ({ id })),
    );
    const page = await all.find({ where: {}, sort: ['name'], limit: 2 });
    const unit = store.begin();
    unit.remove(all, await must(all, 'c'));
    for (const id of ['b', 'd', 'f']) unit.insert(all, { id, name: id });
    await unit.commit();
    expect(ids(page)).toEqual(['a', 'c']);
    expect(ids(await all.find({ where: {}, sort: ['name'], limit: 9, after: ['c', 'c'] }))).toEqual([
      'd',
      'e',
      'f',
      'g',
    ]);
  });

  duty('offset and limit apply to the order', async () => {
    const { fill, things } = use();
    const all = await things();
    const records = await fill(all, drafts());
    const whole = ids(sorted(records, ['kind', '-rank']));
    const at = async (offset: number, limit: number) =>
      ids(await all.find({ where: {}, sort: ['kind', '-rank'], offset, limit }));
    expect(await at(0, 10)).toEqual(whole.slice(0, 10));
    expect(await at(25, 10)).toEqual(whole.slice(25, 35));
    expect(await at(55, 10)).toEqual(whole.slice(55));
    expect(await at(60, 10)).toEqual([]);
  });

  duty('a page comes with the number of all matching records, up to a limit', async () => {
    const { fill, things } = use();
    const all = await things();
    const records = await fill(all, drafts());
    const where: Where<Thing> = { tenant: 'odd', kind: 'doc', or: [{ active: true }, { rank: { lt: 50 } }] };
    const matching = records.filter((r) => r.tenant === 'odd' && r.kind === 'doc' && (r.active || (r.rank ?? 50) < 50));
    expect(matching.length).toBeGreaterThan(5);
    for (const sort of [['rank'], ['-rank'], ['name'], []] satisfies Sort<Thing>[]) {
      const whole = sorted(matching, sort);
      for (const [offset, limit, countLimit] of [
        [0, 3, 100],
        [2, 3, 2],
        [4, 50, 100],
        [99, 3, 100],
      ] as const) {
        const { found, count } = await all.findAndCount({ where, sort, limit, offset }, countLimit);
        expect(found).toEqual(whole.slice(offset, offset + limit));
        expect(count).toBe(Math.min(matching.length, countLimit));
      }
      const [, second] = whole;
      const after = second && keyset(second, sort);
      const next = await all.findAndCount({ where, sort, limit: 2, after }, 100);
      expect(next).toEqual({ found: whole.slice(2, 4), count: matching.length });
    }
  });

  duty('a keyset value is treated as data', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(all, [
      { id: '$a', name: '$gt' },
      { id: 'b.c', name: 'a.b' },
      { id: "c'", name: '{"$ne":1}' },
    ]);
    expect(await walk(all, {}, ['name'], 1)).toEqual(['$a', 'b.c', "c'"]);
    expect(await walk(all, {}, ['-name'], 1)).toEqual(["c'", 'b.c', '$a']);
  });
}
