import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { growthOf } from '../src/runtime/heap-growth.js';

const HOLDER = fileURLToPath(new URL('./heap-growth-holder.js', import.meta.url));
const MIB = 2 ** 20;

test.each([
  [10, 100],
  [64, 100],
  [128, 50],
  [213, 30],
  [256, 25],
  [2000, 25],
])('a heap of %d MiB grows by %d percent', (size, percent) => {
  expect(growthOf(size * MIB)).toBe(percent);
});

/** Returns the number of major collections of a process that holds 40 MB and allocates 1.6 GB of large objects. */
const collections = (how: string) => Number(execFileSync(process.execPath, [HOLDER, how], { encoding: 'utf8' }));

test('a small heap is collected less often than at a quarter', () => {
  expect(collections('limited')).toBeLessThan(0.7 * collections('quarter'));
});
