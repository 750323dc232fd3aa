import { expect, test } from '@jest/globals';
import { createRecent, LONG_TEXT } from '../src/recent.js';

const long = (id: string) => ({ id, text: 'x'.repeat(LONG_TEXT) });

test('a long text rests in proportion to what it cost, and never for long', () => {
  let now = 1000;
  const recent = createRecent(() => now);
  expect(recent.split(['a', 'b'])).toEqual({ now: ['a', 'b'], later: [], waitMs: 0 });
  recent.note([long('a'), { id: 'b', text: 'short' }], 20);
  expect(recent.split(['a', 'b'])).toEqual({ now: ['b'], later: ['a'], waitMs: 80 });
  now += 79;
  expect(recent.split(['a']).waitMs).toBe(1);
  now += 1;
  expect(recent.split(['a']).now).toEqual(['a']);
  recent.note([long('a')], 60_000);
  expect(recent.split(['a']).waitMs).toBeLessThanOrEqual(500);
});
