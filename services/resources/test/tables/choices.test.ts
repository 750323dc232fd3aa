import { describe, expect, test } from '@jest/globals';
import { choiceId, choiceName, splitChoices } from '../../src/tables/choices.js';
import type { Column } from '../../src/tables/column.js';
import { createFaults } from '../../src/tables/faults.js';
import { MAX_CHOICES } from '../../src/tables/limits.js';
import { keepColumns, planColumns } from '../../src/tables/plan-columns.js';

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
    const plan = keepColumns({ columns: [column([{ id: 'a', name: 'A' }])], primary: 'c', nextSlot: 1 }, 5000);
    const names = Array.from({ length: MAX_CHOICES }, (_, i) => `Choice ${i}`);
    const ids = names.map((name) => plan.addChoice('c', name));
    expect(ids.indexOf(undefined)).toBe(MAX_CHOICES - 1);
    expect(plan.addChoice('c', ' Choice 0 ')).toBe(ids[0]);
    expect(plan.settled()[0]?.options.choices?.map(({ name }) => name)).toEqual(['A', ...names.slice(0, -1)]);
  });
});

describe('the choices of all columns', () => {
  const given = (...counts: number[]) =>
    counts.map((count, at) => ({
      id: `c${at}`,
      name: `C${at}`,
      type: 'select',
      options: { choices: Array.from({ length: count }, (_, i) => `Choice ${i}`) },
    }));
  const breathe = async () => {};
  const none: Parameters<typeof planColumns>[1] = { columns: [], primary: '', nextSlot: 0 };
  async function planned(columns: readonly unknown[], old = none, keepOthers = false) {
    const faults = createFaults();
    const plan = await planColumns(columns, old, { keepOthers, maxChoices: 10, breathe }, faults);
    const codes: (string | undefined)[] = [];
    try {
      faults.check();
    } catch (error) {
      codes.push(...(error as { faults: { code: string }[] }).faults.map(({ code }) => code));
    }
    return { plan, codes };
  }

  test('are limited together, however they are written', async () => {
    expect((await planned(given(6, 4))).codes).toEqual([]);
    expect((await planned(given(6, 5))).codes).toEqual(['too_many_items']);
    const { plan } = await planned(given(6));
    expect((await planned(given(0, 4).slice(1), plan, true)).codes).toEqual([]);
    expect((await planned(given(0, 5).slice(1), plan, true)).codes).toEqual(['too_many_items']);
    expect(['a', 'b', 'c', 'd', 'e'].map((name) => plan.addChoice('c0', name) === undefined)).toEqual([
      false,
      false,
      false,
      false,
      true,
    ]);
  });

  test('stay in a table that has more of them already, and can be written back and become fewer', async () => {
    const terms = { keepOthers: false, maxChoices: 100, breathe };
    const many = await planColumns(given(8, 8), none, terms, createFaults());
    const asRead = JSON.parse(JSON.stringify(many.columns)).map(({ slot: _, ...column }: Column) => column);
    const written = await planned(asRead, many);
    expect(written.codes).toEqual([]);
    expect(written.plan.columns).toEqual(many.columns);
    expect((await planned([{ id: 'c0', name: 'Renamed' }], many, true)).codes).toEqual([]);
    expect((await planned(given(8, 4), many)).codes).toEqual([]);
    expect((await planned(given(8, 9), many)).codes).toEqual(['too_many_items']);
    expect(keepColumns(many, 10).addChoice('c0', 'new')).toBeUndefined();
  });

  test('are matched to those before by id, else by name, of equal names in order', async () => {
    const before = (ids: string[]) => ids.map((id) => ({ id, name: 'same', color: 'red' }));
    const old = { ...none, columns: [column(before(['a', 'b']))] };
    const options = { choices: [{ name: 'same' }, { id: 'b', name: 'other' }] };
    const { plan } = await planned([{ id: 'c', name: 'C', type: 'select', options }], old);
    expect(plan.columns[0]?.options.choices).toEqual([
      { id: 'a', name: 'same', color: 'red' },
      { id: 'b', name: 'other', color: 'red' },
    ]);
  });
});
