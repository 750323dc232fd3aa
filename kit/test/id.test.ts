import { expect, jest, test } from '@jest/globals';
import { isUuid, newId } from '../src/id/index.js';

test('ids sort in the order in which they were created, also within a millisecond', () => {
  const ids = Array.from({ length: 20_000 }, () => newId());
  expect(ids.every(isUuid)).toBe(true);
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('an id that is created while the clock is set back sorts after the previous one', () => {
  const before = newId();
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 60_000);
  try {
    expect(newId() > before).toBe(true);
  } finally {
    clock.mockRestore();
  }
});
