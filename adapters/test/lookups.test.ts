import { expect, test } from '@jest/globals';
import type { StoredDocument } from '../src/mongo/codec.js';
import type { RawCollection } from '../src/mongo/collection.js';
import { createLookups } from '../src/mongo/lookups.js';

interface RecordedQuery {
  readonly ids: readonly string[];
  readonly maxTimeMS: number;
  answer(documents: readonly StoredDocument[]): void;
  fail(error: Error): void;
}

/** Creates a fake collection that records its queries until the test answers them. */
function playCollection(): { raw: RawCollection; queries: RecordedQuery[] } {
  const queries: RecordedQuery[] = [];
  const find = ({ _id }: { _id: { $eq?: string; $in?: string[] } }, { maxTimeMS }: { maxTimeMS: number }) => {
    const buffer = new Promise<StoredDocument[]>((answer, fail) => {
      const ids = _id.$in ?? [String(_id.$eq)];
      queries.push({ ids, maxTimeMS, answer: (documents) => answer([...documents]), fail });
    });
    return {
      async *[Symbol.asyncIterator]() {
        yield* await buffer;
      },
    };
  };
  return { raw: { find } as unknown as RawCollection, queries };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const documentOf = (_id: string): StoredDocument => ({ _id, version: 1 });

test('ids requested in one turn become one query, which asks for each id once and takes as long as any caller may wait', async () => {
  const { raw, queries } = playCollection();
  const lookup = createLookups(raw);
  const found = ['a', 'b', 'a', 'c'].map((id, at) => lookup(id, 100 * (at + 1)));
  await turn();
  expect(queries.map(({ ids, maxTimeMS }) => [ids, maxTimeMS])).toEqual([[['a', 'b', 'c'], 400]]);
  queries[0]?.answer([documentOf('c'), documentOf('a')]);
  expect(await Promise.all(found)).toEqual([documentOf('a'), undefined, documentOf('a'), documentOf('c')]);
});

test('a request during a query is never answered by it', async () => {
  const { raw, queries } = playCollection();
  const lookup = createLookups(raw);
  const before = lookup('a', 1000);
  await turn();
  const after = lookup('a', 1000);
  await turn();
  expect(queries.length).toBe(2);
  queries[1]?.answer([{ ...documentOf('a'), version: 2 }]);
  queries[0]?.answer([documentOf('a')]);
  expect([(await before)?.version, (await after)?.version]).toEqual([1, 2]);
});

test('a query asks for at most 100 ids', async () => {
  const { raw, queries } = playCollection();
  const lookup = createLookups(raw);
  for (let at = 0; at < 250; at++) lookup(`id ${at}`, 1000);
  await turn();
  expect(queries.map(({ ids }) => ids.length)).toEqual([100, 100, 50]);
});

test('a failed query fails for its own callers only', async () => {
  const { raw, queries } = playCollection();
  const lookup = createLookups(raw);
  const failing = Promise.allSettled([lookup('a', 1000), lookup('b', 1000)]);
  await turn();
  const other = lookup('c', 1000);
  await turn();
  queries[0]?.fail(new Error('gone'));
  queries[1]?.answer([documentOf('c')]);
  expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await other).toEqual(documentOf('c'));
});
