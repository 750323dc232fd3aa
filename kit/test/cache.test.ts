import { describe, expect, test } from '@jest/globals';
import { LRUCache } from 'lru-cache';
import { createSharedFetches, maxEntries } from '../src/cache/index.js';
import { cancelled } from '../src/deadline/index.js';
import { AppError, Timeout, Unavailable } from '../src/errors/index.js';
import { eventually } from '../src/testing/suite/eventually.js';

test('a cache keeps at most its maximum number of entries, the most recently used ones', () => {
  const cache = new LRUCache<string, number>(maxEntries(3));
  for (const [i, key] of ['a', 'b', 'c'].entries()) cache.set(key, i);
  cache.get('a');
  cache.set('d', 3);
  expect([...cache.keys()].sort()).toEqual(['a', 'c', 'd']);
});

test('a cache allocates no memory for entries that it does not have', () => {
  const caches = (options: object) => {
    const before = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    const made = Array.from({ length: 10 }, () => new LRUCache<string, number>(options as { max: number }));
    return (process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - before) / made.length;
  };
  const reserved = caches({ max: 100_000 });
  expect(caches(maxEntries(100_000))).toBeLessThan(reserved / 10);
});

describe('shared fetches', () => {
  const call = (controller = new AbortController(), ms = 60_000) => ({
    deadline: Date.now() + ms,
    signal: controller.signal,
  });

  /** A cache whose fetches end by `end`, or with their call. */
  function create() {
    const ends: ((error?: Error) => void)[] = [];
    const cache = createSharedFetches({
      ...{ maxCount: 10, maxAgeMs: 60_000 },
      fetch: (key: string, { signal }: { deadline: number; signal: AbortSignal }) =>
        new Promise<string>((resolve, reject) => {
          ends.push((error) => (error === undefined ? resolve(`${key} ${ends.length}`) : reject(error)));
          signal.addEventListener('abort', () => reject(cancelled()));
        }),
    });
    return { cache, ends };
  }

  test('calls at the same time share one fetch, and later ones its result', async () => {
    const { cache, ends } = create();
    const found = [cache.of('a', call()), cache.of('a', call())];
    ends[0]?.();
    expect(await Promise.all(found)).toEqual(['a 1', 'a 1']);
    expect([await cache.of('a', call()), ends.length]).toEqual(['a 1', 1]);
  });

  test('the end of the call that has begun a fetch ends no other call', async () => {
    const { cache, ends } = create();
    const left = new AbortController();
    const first = cache.of('a', call(left));
    const others = [cache.of('a', call()), cache.of('a', call())];
    left.abort();
    await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
    await eventually(() => expect(ends).toHaveLength(2));
    ends[1]?.();
    expect(await Promise.all(others)).toEqual(['a 2', 'a 2']);
  });

  test('so does an earlier deadline, but not a failure of the fetch itself, which is not cached', async () => {
    const { cache, ends } = create();
    const [first, second] = [cache.of('a', call()), cache.of('a', call())];
    ends[0]?.(Timeout());
    await expect(first).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await eventually(() => expect(ends).toHaveLength(2));
    const third = cache.of('a', call());
    ends[1]?.(Unavailable());
    for (const one of [second, third]) await expect(one).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const fourth = cache.of('a', call());
    ends[2]?.();
    expect(await fourth).toBe('a 3');
  });

  test('nor does its credential, which expires while a stream is open', async () => {
    const { cache, ends } = create();
    const stream = cache.of('a', call());
    const others = [cache.of('a', call()), cache.of('a', call())];
    ends[0]?.(new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The caller token is not valid.'));
    await expect(stream).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await eventually(() => expect(ends).toHaveLength(2));
    ends[1]?.();
    expect(await Promise.all(others)).toEqual(['a 2', 'a 2']);
  });

  test('a call that is over fetches nothing more', async () => {
    const { cache, ends } = create();
    const both = new AbortController();
    const found = [cache.of('a', call(both)), cache.of('a', call(both))];
    both.abort();
    for (const one of found) await expect(one).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(ends).toHaveLength(1);
  });
});
