import { expect, jest, test } from '@jest/globals';
import { isUuid, newId } from '../src/id/index.js';

test('ids sort in the order they were made, within a millisecond too', () => {
  const ids = Array.from({ length: 20_000 }, () => newId());
  expect(ids.every(isUuid)).toBe(true);
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('an id made while the clock stands behind still sorts after the one before', () => {
  const before = newId();
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 60_000);
  try {
    expect(newId() > before).toBe(true);
  } finally {
    clock.mockRestore();
  }
});
