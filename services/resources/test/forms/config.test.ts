import { describe, expect, test } from '@jest/globals';
import { holds } from '../../src/forms/conditions.js';
import { readConfig } from '../../src/forms/config.js';

const faultsOf = (...fields: object[]) =>
  readConfig({ title: 'Form', fields }).faults.list.map(({ param, code }) => [param, code]);

const many = (count: number) => Array.from({ length: count }, (_, i) => `value ${i}`);

describe('the configuration of a form', () => {
  const asked = { id: 'a', label: 'A' };
  const shownIf = (value: unknown, op = 'in') => ({ id: 'b', label: 'B', visible_if: { field_id: 'a', op, value } });

  test('limits the values of a condition', () => {
    expect(faultsOf(asked, shownIf(many(500)))).toEqual([]);
    expect(faultsOf(asked, shownIf(many(501)))).toEqual([['config.fields[1].visible_if.value', 'too_many_items']]);
    const long = [['config.fields[1].visible_if.value', 'invalid_value']];
    expect(faultsOf(asked, shownIf(['x'.repeat(1001)]))).toEqual(long);
    expect(faultsOf(asked, shownIf('x'.repeat(1001), 'eq'))).toEqual(long);
  });

  test('limits the options of all fields together', () => {
    const fields = Array.from({ length: 11 }, (_, i) => ({
      ...{ id: `f${i}`, label: `F${i}`, type: 'dropdown', options: many(i < 10 ? 500 : 1) },
    }));
    expect(faultsOf(...fields.slice(0, 10))).toEqual([]);
    expect(faultsOf(...fields)).toEqual([['config.fields', 'too_many_items']]);
  });
});

test.each([
  ['YES', true],
  [17, true],
  ['17', true],
  [['no', 'Yes'], true],
  [true, false],
  ['', false],
  [undefined, false],
])('an answer %p is among the values of a condition: %p', (answer, expected) => {
  expect(holds({ field_id: 'a', op: 'in', value: ['yes', 17] }, answer)).toBe(expected);
});
