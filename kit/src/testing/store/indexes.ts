import { expect } from '@jest/globals';
import { findPages } from '../../store/find-pages.js';
import type { Query } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import { type Bench, type Draft, ids, type Thing } from './harness.js';

function drafts(): Draft[] {
  return Array.from({ length: 200 }, (_, at) => ({
    id: `id-${at}`,
    tenant: `tenant-${at % 4}`,
    name: `name-${at}`,
    kind: `kind-${at % 10}`,
    rank: at,
    ...(at % 20 === 0 ? { amount: at } : {}),
    note: `note-${at}`,
    email: `mail-${at}@example.org`,
    tags: [`tag-${at % 7}`, `tag-${at % 11}`],
  }));
}

const INDEXED: Readonly<Record<string, Query<Thing>>> = {
  'by id': { where: { id: 'id-7' }, limit: 1 },
  'by ids': { where: { id: { in: ['id-7', 'id-9'] } }, limit: 9 },
  'in the order of ids': { where: {}, limit: 10 },
  'by one field': { where: { name: 'name-7' }, limit: 9 },
  'by a prefix': { where: { name: { prefix: 'name-1' } }, sort: ['name'], limit: 9 },
  'by a range, in its order': { where: { name: { gt: 'name-5' } }, sort: ['name'], limit: 9 },
  'the other way round': { where: { name: { gt: 'name-5' } }, sort: ['-name'], limit: 9 },
  'by several fields, in order': { where: { tenant: 'tenant-1', kind: 'kind-1' }, sort: ['rank'], limit: 9 },
  'in order, behind a keyset': { where: { kind: 'kind-1' }, sort: ['-name'], limit: 9, after: ['name-61', 'id-61'] },
  'beside a substring': { where: { kind: 'kind-1', note: { substring: '1' } }, sort: ['name'], limit: 9 },
  'by a unique field': { where: { email: 'mail-7@example.org' }, limit: 1 },
  'by a sparse field': { where: { tenant: 'tenant-0', amount: 20 }, limit: 9 },
  'in the order of a sparse field': { where: { tenant: 'tenant-0' }, sort: ['-amount'], limit: 9 },
  'by an element': { where: { tags: { contains: 'tag-3' } }, limit: 9 },
};

const UNINDEXED: Readonly<Record<string, Query<Thing>>> = {
  'a field without an index': { where: { note: 'note-7' }, limit: 9 },
  'a field without an index, in its order': { where: { note: 'note-7' }, sort: ['note'], limit: 9 },
  'a substring alone': { where: { note: { substring: '7' } }, sort: ['note'], limit: 9 },
  'an order without an index': { where: { kind: 'kind-1' }, sort: ['note'], limit: 9 },
};

export function indexDuties(duty: Duties, use: () => Bench): void {
  duty('explain reports that an index serves a query', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(all, drafts());
    const plans: Record<string, unknown> = {};
    for (const [title, query] of Object.entries(INDEXED)) {
      const { indexed, plan } = await all.explain(query);
      plans[title] = indexed || plan;
    }
    expect(plans).toEqual(Object.fromEntries(Object.keys(INDEXED).map((title) => [title, true])));
  });

  duty('explain reports that no index serves a query', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(all, drafts());
    for (const [title, query] of Object.entries(UNINDEXED)) {
      const { indexed, plan } = await all.explain(query);
      expect([title, plan, indexed]).toEqual([title, expect.any(String), false]);
    }
  });

  duty('a query in any order reads as many records as it returns', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(all, drafts());
    const query = { where: { tenant: 'tenant-1' }, anyOrder: true, limit: 9 };
    expect((await all.find(query)).map(({ tenant }) => tenant)).toEqual(Array(9).fill('tenant-1'));
    expect(ids(await all.find({ ...query, limit: 500 })).sort()).toEqual(
      ids(await all.find({ where: query.where, limit: 500 })),
    );
    expect((await all.explain(query)).plan).not.toMatch(/TEMP B-TREE|"SORT"/);
  });

  duty('pages of the records with an element follow the order of ids', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(all, drafts());
    const where = { tags: { contains: 'tag-3' } };
    const having = ids(await all.find({ where: {}, limit: 500 })).filter((id) => {
      const at = Number(id.slice('id-'.length));
      return at % 7 === 3 || at % 11 === 3;
    });
    const walked: string[] = [];
    for await (const page of findPages(all, { where }, 10)) walked.push(...ids(page));
    expect(walked).toEqual(having);
    expect(ids(await all.find({ where: { ...where, tenant: 'tenant-3' }, sort: ['-id'], limit: 500 }))).toEqual(
      having.filter((id) => Number(id.slice('id-'.length)) % 4 === 3).reverse(),
    );
    expect((await all.explain({ where, limit: 10, after: ['id-17'] })).plan).not.toMatch(
      /TEMP B-TREE|LIST SUBQ|"SORT"/,
    );
  });

  duty('a sparse index hides no records from queries', async () => {
    const { fill, things, store } = use();
    const all = await things();
    const [a] = await fill(all, [
      { id: 'a', tenant: 't' },
      { id: 'b', tenant: 't', amount: 2 },
      { id: 'c', tenant: 't', amount: 1 },
    ]);
    expect(ids(await all.find({ where: { tenant: 't' }, limit: 9 }))).toEqual(['a', 'b', 'c']);
    expect(ids(await all.find({ where: { tenant: 't', amount: { gt: 0 } }, sort: ['amount'], limit: 9 }))).toEqual([
      'c',
      'b',
    ]);
    const unit = store.begin();
    unit.replace(all, a as Thing, { ...(a as Thing), amount: 3 });
    await unit.commit();
    expect(ids(await all.find({ where: { tenant: 't', amount: { gt: 1 } }, sort: ['-amount'], limit: 9 }))).toEqual([
      'a',
      'b',
    ]);
  });

  duty('indexed elements follow every change', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'a', tags: ['x', 'y', 'x'] },
      { id: 'b', tags: ['y'] },
    ]);
    const having = async (tag: string) => ids(await all.find({ where: { tags: { contains: tag } }, limit: 9 }));
    expect(await having('y')).toEqual(['a', 'b']);
    let unit = store.begin();
    unit.replace(all, await must(all, 'a'), { id: 'a', name: 'a', tags: ['z'] });
    unit.replace(all, await must(all, 'b'), { id: 'b', name: 'b' });
    await unit.commit();
    expect([await having('x'), await having('y'), await having('z')]).toEqual([[], [], ['a']]);
    unit = store.begin();
    unit.remove(all, await must(all, 'a'));
    await unit.commit();
    expect(await having('z')).toEqual([]);
  });

  duty('an indexed text is found by its parts after every change', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'a', name: 'annual report' },
      { id: 'b', name: 'monthly report' },
      { id: 'c', kind: 'nameless' },
    ]);
    const having = async (text: string) => ids(await all.find({ where: { name: { substring: text } }, limit: 9 }));
    expect([await having('report'), await having('annual r')]).toEqual([['a', 'b'], ['a']]);
    let unit = store.begin();
    unit.replace(all, await must(all, 'a'), { id: 'a', name: 'annual plan' });
    unit.replace(all, await must(all, 'c'), { id: 'c', name: 'a report too' });
    await unit.commit();
    expect([await having('report'), await having('annual'), await having('plan')]).toEqual([['b', 'c'], ['a'], ['a']]);
    unit = store.begin();
    unit.remove(all, await must(all, 'b'));
    await unit.commit();
    expect([await having('report'), await all.count({ name: { substring: 'monthly' } })]).toEqual([['c'], 0]);
    await fill(all, [{ id: 'b', name: 'the last report' }]);
    expect([await having('report'), await having('monthly')]).toEqual([['b', 'c'], []]);
  });

  duty('a part that many texts have selects those that match the other conditions', async () => {
    const { fill, things } = use();
    const all = await things();
    const many = Array.from({ length: 1200 }, (_, at) => ({
      id: `m-${at}`,
      name: `common ${at}`,
      kind: `k${at % 600}`,
    }));
    await fill(all, many);
    const where = { kind: 'k7', name: { substring: 'common' } };
    expect(ids(await all.find({ where, limit: 9 }))).toEqual(['m-607', 'm-7']);
    expect([await all.count(where), await all.count({ name: { substring: 'common 1' } })]).toEqual([2, 311]);
  });

  duty('a changed value is found by its new value and not by its former one', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'a', kind: 'old', email: 'old@x.org' },
      { id: 'b', kind: 'old' },
    ]);
    const unit = store.begin();
    unit.replace(all, await must(all, 'a'), { id: 'a', name: 'renamed', kind: 'new', email: 'new@x.org' });
    await unit.commit();
    const by = async (where: Query<Thing>['where']) => ids(await all.find({ where, limit: 9 }));
    expect([await by({ kind: 'old' }), await by({ kind: 'new' })]).toEqual([['b'], ['a']]);
    expect([await by({ name: 'a' }), await by({ name: 'renamed' })]).toEqual([[], ['a']]);
    expect([await by({ email: 'old@x.org' }), await by({ email: 'new@x.org' })]).toEqual([[], ['a']]);
    expect(await all.countBy('kind', {})).toEqual(
      new Map([
        ['old', 1],
        ['new', 1],
      ]),
    );
  });

  duty('a new index covers the existing records of a collection', async () => {
    const { fill, store, things } = use();
    const all = await things();
    await fill(all, drafts());
    const added = [{ fields: ['note'] as const }, { fields: ['note'] as const, substrings: true }];
    const more = { ...all.spec, indexes: [...all.spec.indexes, ...added] };
    await store.collection(more);
    const other = use().harness.store('contract');
    const again = await other.collection(more);
    const query: Query<Thing> = { where: { note: 'note-7' }, limit: 9 };
    expect(ids(await again.find(query))).toEqual(['id-7']);
    expect(await again.explain(query)).toMatchObject({ indexed: true });
    expect(ids(await again.find({ where: { note: { substring: 'ote-77' } }, limit: 9 }))).toEqual(['id-77']);
  });
}
