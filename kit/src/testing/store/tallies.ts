import { expect } from '@jest/globals';
import type { Where } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import type { Bench, Draft, Thing } from './harness.js';

function drafts(): Draft[] {
  return Array.from({ length: 50 }, (_, at) => ({
    id: `id-${String(at).padStart(2, '0')}`,
    tenant: at < 30 ? 'one' : 'two',
    kind: at % 10 === 9 ? undefined : ['doc', '$doc', 'a.b'][at % 3],
    rank: at % 5,
    amount: at % 2 === 0 ? at / 4 : undefined,
    active: at % 2 === 0,
  }));
}

export function tallyDuties(duty: Duties, use: () => Bench): void {
  duty('count returns the number of matches, up to its limit', async () => {
    const { fill, things } = use();
    const all = await things();
    expect(await all.count({})).toBe(0);
    await fill(all, drafts());
    expect(await all.count({})).toBe(50);
    expect(await all.count({ tenant: 'one' })).toBe(30);
    expect(await all.count({ tenant: 'one' }, 10)).toBe(10);
    expect(await all.count({ tenant: 'one' }, 30)).toBe(30);
    expect(await all.count({ tenant: 'one' }, 1000)).toBe(30);
    expect(await all.count({ tenant: 'none' }, 5)).toBe(0);
  });

  duty('countBy counts each value that occurs', async () => {
    const { fill, things } = use();
    const all = await things();
    expect(await all.countBy('kind', {})).toEqual(new Map());
    await fill(all, [...drafts(), { id: 'null', note: null }]);
    const kinds = new Map([
      ['doc', 15],
      ['$doc', 15],
      ['a.b', 15],
    ]);
    expect(await all.countBy('kind', {})).toEqual(kinds);
    expect(await all.countBy('rank', { tenant: 'one', rank: { lt: 2 } })).toEqual(
      new Map([
        ['0', 6],
        ['1', 6],
      ]),
    );
    expect(await all.countBy('active', { tenant: 'two' })).toEqual(
      new Map([
        ['true', 10],
        ['false', 10],
      ]),
    );
    expect(await all.countBy('note', {})).toEqual(new Map());
    const ids = (await all.find({ where: { tenant: 'two' }, limit: 100 })).map(({ id }) => id);
    expect(await all.countBy('id', { tenant: 'two' })).toEqual(new Map(ids.map((id) => [id, 1])));
  });

  duty('sum adds up a field of all matches', async () => {
    const { fill, things } = use();
    const all = await things();
    expect(await all.sum('rank', {})).toBe(0);
    await fill(all, [...drafts(), { id: 'big', tenant: 'big', rank: 2 ** 52 }, { id: 'big2', tenant: 'big', rank: 1 }]);
    expect(await all.sum('rank', { tenant: 'one' })).toBe(60);
    expect(await all.sum('amount', {})).toBe(150);
    expect(await all.sum('rank', { tenant: 'none' })).toBe(0);
    expect(await all.sum('rank', { tenant: 'big' })).toBe(2 ** 52 + 1);
    expect(await all.sumBy({ sum: 'rank', by: 'tenant' }, { tenant: { in: ['one', 'big', 'none'] } })).toEqual(
      new Map([
        ['one', 60],
        ['big', 2 ** 52 + 1],
      ]),
    );
    expect(await all.sumBy({ sum: 'amount', by: 'tenant' }, { tenant: 'one', rank: { gt: 60 } })).toEqual(new Map());
  });

  duty('the greatest value is returned for each of some values', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'a', kind: 'one', note: 'early' },
      { id: 'b', kind: 'one', note: 'Late' },
      { id: 'c', kind: 'two', note: 'z' },
      { id: 'd', kind: '$none', note: 'é' },
      { id: 'e', kind: 'silent' },
    ]);
    const values = ['one', '$none', 'one', 'silent', 'missing'];
    expect(await all.maxBy({ max: 'note', by: 'kind' }, values)).toEqual(
      new Map([
        ['one', 'early'],
        ['$none', 'é'],
      ]),
    );
    expect(await all.maxBy({ max: 'note', by: 'kind' }, [])).toEqual(new Map());
  });

  duty('countEach counts the matches of each filter, in their order', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'a', kind: 'one', rank: 1 },
      { id: 'b', kind: 'one', rank: 2 },
      { id: 'c', kind: '$none', rank: 3 },
    ]);
    const wheres: Where<Thing>[] = [
      { kind: 'none' },
      { kind: 'one', rank: { gt: 1 } },
      { kind: 'one' },
      { kind: '$none' },
      { kind: 'one' },
      { or: [] },
    ];
    expect(await all.countEach(wheres)).toEqual([0, 1, 2, 1, 2, 0]);
    expect(await all.countEach([])).toEqual([]);
  });

  duty('max returns the greatest value of a field of all matches', async () => {
    const { fill, things } = use();
    const all = await things();
    expect(await all.max('rank', {})).toBeUndefined();
    await fill(all, [
      { id: 'a', tenant: 'one', rank: 9, name: 'a' },
      { id: 'b', tenant: 'one', rank: 10, name: 'Z' },
      { id: 'c', tenant: 'one', name: 'é' },
      { id: 'd', tenant: 'two', rank: 2 ** 52, name: '\u{1f600}' },
      { id: 'e', tenant: 'two', name: '\uffff' },
    ]);
    expect(await all.max('rank', { tenant: 'one' })).toBe(10);
    expect(await all.max('name', { tenant: 'one' })).toBe('é');
    expect(await all.max('rank', {})).toBe(2 ** 52);
    // Compared by code point, not by UTF-16 code unit.
    expect(await all.max('name', { tenant: 'two' })).toBe('\u{1f600}');
    expect(await all.max('name', { tenant: 'three' })).toBeUndefined();
  });
}
