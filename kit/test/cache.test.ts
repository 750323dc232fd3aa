import { expect, test } from '@jest/globals';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../src/cache/index.js';

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
