import { isLongerThan } from '@commonplace/kit/words';
import { describe, expect, test } from '@jest/globals';

describe('the length of a text', () => {
  test('is counted in code points', () => {
    for (const one of ['a', 'é', '漢', '😀', '\ud800']) {
      expect([3, 4, 5].map((count) => isLongerThan(one.repeat(count), 4))).toEqual([false, false, true]);
    }
    expect(isLongerThan('', 0)).toBe(false);
    expect(isLongerThan('a', 0)).toBe(true);
    expect(isLongerThan('', -1)).toBe(true);
    expect(isLongerThan('a', Number.POSITIVE_INFINITY)).toBe(false);
  });
});
