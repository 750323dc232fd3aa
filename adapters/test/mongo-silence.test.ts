import { beforeEach, expect, test } from '@jest/globals';
import { createSilence } from '../src/mongo/silence.js';

let now: number;
let silence: ReturnType<typeof createSilence>;

beforeEach(() => {
  now = 0;
  silence = createSilence(() => now);
});

/** Looks at an instance after a second, as often as its heartbeat is given. Returns when it was silent. */
function look(...beats: string[]): boolean[] {
  return beats.map((beat) => {
    now += 1000;
    return silence.isSilent('other', beat);
  });
}

test('an instance whose heartbeat stops for three seconds is silent, and one that beats again is not', () => {
  expect(look('1', '2', '2', '2', '3')).toEqual([false, false, false, false, false]);
  expect(look('4', '4', '4', '4', '5')).toEqual([false, false, false, true, false]);
});

test.each([2900, 12_000])('an instance is not silent because its server was away for %d ms', (awayMs) => {
  look('1', '2', '2');
  now += awayMs;
  expect(look('2', '3', '3')).toEqual([false, false, false]);
});

test('an instance that is dead after its server was away is silent all the same', () => {
  look('1', '2');
  now += 12_000;
  expect(look('2', '2', '2')).toEqual([false, false, true]);
});

test('looks that each take long find a dead instance too', () => {
  const found = [1, 2, 3, 4].map(() => {
    now += 5000;
    return silence.isSilent('other', '1');
  });
  expect(found).toEqual([false, false, false, true]);
});
