import { expect, test } from '@jest/globals';
import { SlotMap } from '../src/slots/index.js';

test('a value is taken once by its number, which is then reused', () => {
  const slots = new SlotMap<{ readonly name: string }>();
  const [a, b] = ['a', 'b'].map((name) => slots.put({ name }));
  expect([a, b, slots.size]).toEqual([1, 2, 2]);
  expect(slots.take(a as number)).toEqual({ name: 'a' });
  expect(slots.take(a as number)).toBeUndefined();
  expect([slots.size, slots.put({ name: 'c' }), slots.put({ name: 'd' })]).toEqual([1, 1, 3]);
  expect(slots.take(1)).toEqual({ name: 'c' });
});

test('a number that was never returned has no value', () => {
  const slots = new SlotMap<object>();
  slots.put({});
  for (const number of [0, -1, 2, 1.5, Number.NaN]) expect(slots.take(number)).toBeUndefined();
  expect(slots.size).toBe(1);
});

test('takeAll returns all values in the order of their numbers, and frees the numbers', () => {
  const slots = new SlotMap<{ readonly name: string }>();
  for (const name of ['a', 'b', 'c']) slots.put({ name });
  slots.take(2);
  expect([...slots.takeAll()].map(({ name }) => name)).toEqual(['a', 'c']);
  expect([slots.size, [...slots.takeAll()]]).toEqual([0, []]);
  expect(new Set([1, 2, 3].map(() => slots.put({ name: 'x' })))).toEqual(new Set([1, 2, 3]));
});
