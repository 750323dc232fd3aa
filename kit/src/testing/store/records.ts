import { expect } from '@jest/globals';
import type { Duties } from '../suite/duties.js';
import { type Bench, ids } from './harness.js';

/** Keys and values that some database interprets as an operator, a path or a prototype. */
const HOSTILE = JSON.stringify({
  $gt: '',
  $where: 'sleep(1000)',
  $set: { a: 1 },
  $ref: 'things',
  $id: 'x',
  $oid: '507f1f77bcf86cd799439011',
  $numberLong: '9',
  'a.b': { 'c.d': ['$e', { 'f.$': 0 }] },
  '': { '': [] },
  constructor: { prototype: { polluted: true } },
  toJSON: 'text',
  _id: 1,
  _bsontype: 'ObjectId',
  ' ': ' ',
  '"quoted"': "'single' \\ `back`",
  'nul\u0000key': 'nul\u0000value',
}).replace('{', '{"__proto__":{"polluted":true},');

const NUMBERS = [
  0,
  1,
  -1,
  0.1,
  0.1 + 0.2,
  -1.5,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32 + 0.5,
  2 ** 53 - 1,
  -(2 ** 53) + 1,
  1e21,
  5e-324,
  1.7976931348623157e308,
  1e-7,
];

const TEXTS = [
  '',
  ' ',
  ' edge ',
  '😀👩‍👩‍👧‍👦',
  '漢字かな交じり',
  'e\u0301 is not é',
  '\u0000',
  'a\u0000b',
  '\uFEFFbom',
  'x'.repeat(300_000),
  '$gt',
  '{"$gt":""}',
  'null',
  '1',
];

export function recordDuties(duty: Duties, use: () => Bench): void {
  duty('a record is returned as it was stored, field by field', async () => {
    const { fill, must, things } = use();
    const all = await things();
    const full = {
      id: 'full',
      tenant: 'org-1',
      name: 'All fields',
      kind: '$gt',
      rank: -3,
      amount: 0.1,
      active: false,
      email: 'a@example.org',
      note: null,
      tags: ['b', 'a', 'b'],
      numbers: [3, 1, 2],
      body: { blocks: [{ type: 'text', marks: [], text: 'hi' }, null, [[], [[]], {}]], empty: {} },
    };
    await fill(all, [full, { id: 'least' }]);
    expect(await must(all, 'full')).toStrictEqual({ ...full, version: 1 });
    expect(await must(all, 'least')).toStrictEqual({ id: 'least', name: 'least', version: 1 });
    expect(await all.get('none')).toBeUndefined();
  });

  duty('get returns what insert and replace returned', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    const [made] = await fill(all, [{ id: 'a', note: undefined, tags: [], body: [1, { b: undefined }] }]);
    expect(made).toEqual(await must(all, 'a'));
    const unit = store.begin();
    const after = unit.replace(all, await must(all, 'a'), { id: 'a', name: 'b', kind: 'new' });
    await unit.commit();
    expect(after).toStrictEqual(await must(all, 'a'));
  });

  duty('keys and strings that look like operators are treated as data', async () => {
    const { fill, must, things } = use();
    const all = await things();
    const body: unknown = JSON.parse(HOSTILE);
    await fill(all, [{ id: 'a.$b', name: '$ne', kind: 'a.b', tags: ['$in', '__proto__', 'a.0'], body }]);
    const found = await must(all, 'a.$b');
    expect(JSON.stringify(found.body)).toBe(HOSTILE);
    expect(found).toMatchObject({ name: '$ne', kind: 'a.b', tags: ['$in', '__proto__', 'a.0'] });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(ids(await all.find({ where: { name: '$ne', kind: 'a.b' }, limit: 9 }))).toEqual(['a.$b']);
    expect(ids(await all.find({ where: { tags: { contains: '__proto__' } }, limit: 9 }))).toEqual(['a.$b']);
    expect(await all.find({ where: { name: '$gt' }, limit: 9 })).toEqual([]);
  });

  duty('numbers are stored exactly', async () => {
    const { fill, must, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'lists', numbers: NUMBERS, body: { list: NUMBERS } },
      ...NUMBERS.map((amount, at) => ({ id: `n${at}`, amount })),
    ]);
    const lists = await must(all, 'lists');
    expect(lists.numbers).toStrictEqual(NUMBERS);
    expect(lists.body).toStrictEqual({ list: NUMBERS });
    for (const [at, amount] of NUMBERS.entries()) {
      expect((await must(all, `n${at}`)).amount).toBe(amount);
      expect(ids(await all.find({ where: { amount }, limit: 9 }))).toEqual([`n${at}`]);
    }
  });

  duty('text is stored exactly, whatever its characters and length', async () => {
    const { fill, must, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'lists', tags: TEXTS, body: TEXTS },
      ...TEXTS.map((note, at) => ({ id: `t${at}`, note, body: { [note]: note } })),
    ]);
    const lists = await must(all, 'lists');
    expect(lists.tags).toStrictEqual(TEXTS);
    expect(lists.body).toStrictEqual(TEXTS);
    for (const [at, note] of TEXTS.entries()) {
      const found = await must(all, `t${at}`);
      expect(found.note).toBe(note);
      expect(found.body).toStrictEqual({ [note]: note });
    }
  });

  duty('text that is not well-formed Unicode is stored exactly', async () => {
    const { fill, must, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a', note: 'half \ud83d', tags: ['\ude00 half'], body: { '\ud83d': ['\ude00'] } }]);
    expect(await must(all, 'a')).toMatchObject({
      note: 'half \ud83d',
      tags: ['\ude00 half'],
      body: { '\ud83d': ['\ude00'] },
    });
  });

  duty('undefined becomes absent, and null is kept', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a', note: undefined, email: null, body: { gone: undefined, stays: null } }]);
    const found = await must(all, 'a');
    expect(found).toStrictEqual({ id: 'a', name: 'a', version: 1, email: null, body: { stays: null } });
    const unit = store.begin();
    unit.replace(all, found, { ...found, email: undefined, note: null });
    await unit.commit();
    expect(await must(all, 'a')).toStrictEqual({ id: 'a', name: 'a', version: 2, note: null, body: { stays: null } });
  });

  duty('deeply nested values are returned unchanged', async () => {
    const { fill, must, things } = use();
    const all = await things();
    const body: unknown = JSON.parse(`${'{"a":['.repeat(90)}1${']}'.repeat(90)}`);
    await fill(all, [{ id: 'a', body }]);
    expect((await must(all, 'a')).body).toStrictEqual(body);
  });

  duty('changing a returned record does not change the store', async () => {
    const { fill, must, things } = use();
    const all = await things();
    const list = ['kept'];
    await fill(all, [{ id: 'a', tags: list, body: { list } }]);
    list.push('after the commit');
    const found = (await must(all, 'a')) as unknown as { tags: string[]; body: { list: string[] } };
    expect(found.tags).toEqual(['kept']);
    pushIfAllowed(found.tags, 'mine');
    pushIfAllowed(found.body.list, 'mine');
    expect(await must(all, 'a')).toMatchObject({ tags: ['kept'], body: { list: ['kept'] } });
  });

  duty('getMany returns the existing records in the requested order', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(
      all,
      Array.from({ length: 300 }, (_, at) => ({ id: `id-${at}` })),
    );
    const wanted = Array.from({ length: 300 }, (_, at) => `id-${(at * 7) % 300}`);
    expect(ids(await all.getMany(wanted))).toEqual(wanted);
    expect(ids(await all.getMany(['id-9', 'none', '$gt', 'id-3']))).toEqual(['id-9', 'id-3']);
    expect(await all.getMany([])).toEqual([]);
  });

  duty('concurrent readers each get their record, and changing it does not affect others', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(
      all,
      Array.from({ length: 150 }, (_, at) => ({ id: `id-${at}`, tags: ['kept'] })),
    );
    const wanted = Array.from({ length: 300 }, (_, at) => `id-${(at * 7) % 200}`);
    const found = await Promise.all(wanted.map((id) => all.get(id)));
    const there = wanted.map((id) => (Number(id.slice(3)) < 150 ? id : undefined));
    expect(found.map((one) => one?.id)).toEqual(there);
    for (const one of found) if (one?.tags !== undefined) pushIfAllowed(one.tags as string[], 'mine');
    expect((await all.getMany(wanted)).filter((one) => one.tags?.length !== 1)).toEqual([]);
    const own = found.filter((one) => one !== undefined && !Object.isFrozen(one.tags));
    expect(own.filter((one) => one?.tags?.length !== 2)).toEqual([]);
  });

  duty('services and collections keep their records separate', async () => {
    const { fill, harness, things, must } = use();
    const [here, beside] = [await things(), await things()];
    await fill(here, [{ id: 'a', email: 'same@example.org' }]);
    expect(await beside.get('a')).toBeUndefined();
    const other = harness.store('elsewhere');
    const there = await other.collection(here.spec);
    expect(await there.get('a')).toBeUndefined();
    const unit = other.begin();
    unit.insert(there, { id: 'a', name: 'there', email: 'same@example.org' });
    await unit.commit();
    expect((await must(here, 'a')).name).toBe('a');
  });
}

/** Adds to a list of a record that was read. An adapter may freeze its records; then this changes nothing. */
function pushIfAllowed(list: string[], text: string): void {
  if (!Object.isFrozen(list)) list.push(text);
}
