import { expect, test } from '@jest/globals';
import { type Collection, findBoundedPage, keyset, type Query } from '../src/store/index.js';
import { countTurns } from '../src/testing/suite/turns.js';

interface Item {
  readonly id: string;
  readonly version: number;
}

const all = Array.from({ length: 20 }, (_, i): Item => ({ id: `id-${String(i).padStart(2, '0')}`, version: 1 }));

const collection = {
  find: async ({ limit, after, offset = 0 }: Query<Item>) => {
    const from = after === undefined ? offset : all.findIndex((one) => keyset(one)[0] === after[0]) + 1;
    return all.slice(from, from + limit);
  },
  count: async () => all.length,
} as unknown as Collection<Item>;

async function* present(items: readonly Item[]): AsyncGenerator<Item> {
  for (const item of items) {
    const until = performance.now() + 2;
    while (performance.now() < until);
    yield item;
  }
}

const list = { collection, where: {}, sort: [], present };

test('a page of large items ends early, and says where the next one begins', async () => {
  const { items, page } = await findBoundedPage(
    { ...list, bytesOf: () => 1024 * 1024 },
    { limit: 9, offset: 0, cursor: '' },
  );
  expect(items.map(({ id }) => id)).toEqual(['id-00', 'id-01', 'id-02', 'id-03']);
  expect(page).toMatchObject({ total: 20, hasMore: true, nextOffset: 4 });
});

test('other requests run between the items of a page', async () => {
  const read = () => findBoundedPage({ ...list, bytesOf: () => 1 }, { limit: 20, offset: 0, cursor: '' });
  expect(await countTurns(read)).toBeGreaterThanOrEqual(20);
});
