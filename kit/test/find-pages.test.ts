import { expect, test } from '@jest/globals';
import { type Collection, findAll, findEach, findInPages, findPages, keyset, type Query } from '../src/store/index.js';

interface Item {
  readonly id: string;
  readonly version: number;
  readonly at: number;
}

/** A collection that only finds, ordered by `at` if a query is sorted, otherwise by id. */
function collectionOf(items: readonly Item[]) {
  const asked: Query<Item>[] = [];
  const find = async (query: Query<Item>): Promise<Item[]> => {
    asked.push(query);
    const before = (one: Item, other: Item) =>
      query.sort && one.at !== other.at ? one.at < other.at : one.id < other.id;
    const sorted = [...items].sort((a, b) => (before(a, b) ? -1 : 1));
    const from = sorted.findIndex((one) => String(keyset(one, query.sort)) === String(query.after)) + 1;
    return sorted.slice(from, from + query.limit);
  };
  return { asked, collection: { find } as unknown as Collection<Item> };
}

const items = Array.from({ length: 5 }, (_, i) => ({ id: `id-${i}`, version: 1, at: i % 2 }));
const idsOf = (some: readonly Item[]) => some.map(({ id }) => id);

test.each([
  [2, [2, 2, 1]],
  [5, [5]],
  [9, [5]],
])('yields pages of %i records', async (size, lengths) => {
  const pages: number[] = [];
  for await (const page of findPages(collectionOf(items).collection, { where: {} }, size)) pages.push(page.length);
  expect(pages).toEqual(lengths);
});

test('yields no page of an empty collection', async () => {
  const { collection, asked } = collectionOf([]);
  expect(await findAll(collection, { where: {} }, 2)).toEqual([]);
  expect(asked).toHaveLength(1);
});

test('goes on behind the last record in the order of the sort', async () => {
  const { collection } = collectionOf(items);
  const all = await findAll(collection, { where: {}, sort: ['at'] }, 2);
  expect(idsOf(all)).toEqual(['id-0', 'id-2', 'id-4', 'id-1', 'id-3']);
});

test('reads no more than its reader takes', async () => {
  const { collection, asked } = collectionOf(items);
  for await (const { id } of findEach(collection, { where: {} }, 2)) if (id === 'id-1') break;
  expect(asked).toHaveLength(1);
});

test('reads the records of one query in pages, up to its limit', async () => {
  const { collection, asked } = collectionOf(items);
  const found = await findInPages(collection, { where: {}, sort: ['at'], limit: 4 }, 3);
  expect(idsOf(found)).toEqual(['id-0', 'id-2', 'id-4', 'id-1']);
  expect(asked.map(({ limit }) => limit)).toEqual([3, 1]);
});
