import { expect, test } from '@jest/globals';
import { isChanged } from '../src/store/index.js';

interface Thing {
  readonly id: string;
  readonly version: number;
  readonly tags: readonly string[];
  readonly note?: string | undefined;
  readonly place?: { readonly at?: string | undefined };
  readonly updatedAt: string;
}

const before: Thing = { id: 'a', version: 3, tags: ['x'], updatedAt: '2026-01-01T00:00:00.000Z' };

test('a record with another time of change only is unchanged', () => {
  expect(isChanged(before, { ...before, tags: ['x'], note: undefined, updatedAt: 'later' })).toBe(false);
});

test('what is undefined counts as absent, also further down', () => {
  expect(isChanged<Thing>({ ...before, place: {} }, { ...before, place: { at: undefined } })).toBe(false);
  expect(isChanged<Thing>({ ...before, place: {} }, { ...before, place: { at: 'here' } })).toBe(true);
});

test('a record with another, a new or a removed value is changed', () => {
  expect(isChanged(before, { ...before, tags: ['x', 'y'] })).toBe(true);
  expect(isChanged(before, { ...before, note: '' })).toBe(true);
  expect(isChanged<Thing>({ ...before, note: 'n' }, before)).toBe(true);
});
