import { expect, test } from '@jest/globals';
import { createRecent, LONG_TEXT_CHARS } from '../src/recent.js';

const long = (id: string) => ({ id, text: 'x'.repeat(LONG_TEXT_CHARS) });

test('delays a long text in proportion to its indexing time, up to a limit', () => {
  let now = 1000;
  const recent = createRecent(() => now);
  expect(recent.split(['a', 'b'], 0)).toEqual({ now: ['a', 'b'], later: [], waitMs: 0 });
  recent.note([long('a'), { id: 'b', text: 'short' }], 20);
  expect(recent.split(['a', 'b'], 0)).toEqual({ now: ['b'], later: ['a'], waitMs: 320 });
  now += 319;
  expect(recent.split(['a'], 0).waitMs).toBe(1);
  now += 1;
  expect(recent.split(['a'], 0).now).toEqual(['a']);
  recent.note([long('a')], 60_000);
  expect(recent.split(['a'], 0).waitMs).toBeLessThanOrEqual(500);
});

test('delays nothing while the index lags behind', () => {
  const recent = createRecent(() => 1000);
  recent.note([long('a')], 60_000);
  expect(recent.split(['a'], 400)).toMatchObject({ later: ['a'], waitMs: 100 });
  expect(recent.split(['a'], 500)).toMatchObject({ now: ['a'], later: [] });
  // The clock of another machine may be ahead.
  expect(recent.split(['a'], -3000).waitMs).toBe(500);
});
