import { describe, expect, test } from '@jest/globals';
import { choiceId, choiceName, splitChoices } from '../../src/tables/choices.js';
import type { Column } from '../../src/tables/column.js';
import { MAX_CHOICES } from '../../src/tables/limits.js';
import { keepColumns } from '../../src/tables/plan-columns.js';

const column = (choices: { id: string; name: string }[]) =>
  ({ id: 'c', name: 'C', type: 'select', slot: 0, options: { choices } }) as unknown as Column;

describe('choices', () => {
  test('are found by id, else by name, the first of equal names', () => {
    const of = column([
      { id: 'a', name: 'b' },
      { id: 'b', name: 'x' },
      { id: 'c', name: 'x' },
    ]);
    expect(['a', 'b', ' x ', 'y'].map((text) => choiceId(of, text))).toEqual(['a', 'b', 'b', undefined]);
    expect([choiceName(of, 'c'), choiceName(of, 'x')]).toEqual(['x', undefined]);
    expect(choiceId(column([]), 'a')).toBeUndefined();
  });

  test('whose names have commas are found in a list of names, the longest one first', () => {
    const of = column([
      { id: 'a', name: 'red' },
      { id: 'b', name: 'red, dark' },
      { id: 'c', name: `1${',1'.repeat(20)}` },
    ]);
    expect(splitChoices(of, ' red, dark, blue,,red , red,dark')).toEqual(['red, dark', 'blue', 'red', 'red', 'dark']);
    expect(splitChoices(of, 'dark, red')).toEqual(['dark', 'red']);
    expect(splitChoices(of, '1,1')).toEqual(['1', '1']);
    expect(splitChoices(column([]), ' , ')).toEqual([]);
  });

  test('that a write adds are found again once the column has as many as it may have', () => {
    const plan = keepColumns({ columns: [column([{ id: 'a', name: 'A' }])], primary: 'c', nextSlot: 1 });
    const names = Array.from({ length: MAX_CHOICES }, (_, i) => `Choice ${i}`);
    const ids = names.map((name) => plan.addChoice('c', name));
    expect(ids.indexOf(undefined)).toBe(MAX_CHOICES - 1);
    expect(plan.addChoice('c', ' Choice 0 ')).toBe(ids[0]);
    expect(plan.settled()[0]?.options.choices?.map(({ name }) => name)).toEqual(['A', ...names.slice(0, -1)]);
  });
});
