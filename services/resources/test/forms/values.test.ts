import { AppError, invalidFields } from '@commonplace/kit/errors';
import { FORM_FIELD_TYPES } from '@commonplace/proto/schemas.js';
import { describe, expect, test } from '@jest/globals';
import { type BoundField, bindFields } from '../../src/forms/columns.js';
import type { Condition, FormField } from '../../src/forms/field.js';
import { hookValues } from '../../src/forms/hook-values.js';
import { type Answers, readValues } from '../../src/forms/values.js';
import { type Column, type ColumnType, PLAIN_COLUMN } from '../../src/tables/column.js';

/** Returns the answers of values that must be valid. */
function answersOf(...[fields, disabled, given]: Parameters<typeof readValues>): Answers {
  const { answers, faults } = readValues(fields, disabled, given);
  if (faults.length > 0) throw invalidFields([...faults]);
  return answers;
}

const column = (id: string, type: ColumnType, options: Column['options'] = {}): Column => ({
  ...PLAIN_COLUMN,
  id,
  name: id,
  type,
  options,
});

/** Returns one field bound to its column. */
function bound(field: Partial<FormField> & Pick<FormField, 'type'>, of: Column = column('c', 'text')): BoundField[] {
  const config = { fields: [{ id: 'f', label: 'F', column_id: of.id, ...field }] };
  return [...bindFields(config, [of]).fields];
}

const NONE: ReadonlyMap<string, FormField> = new Map();
const AT = column('c', 'datetime');
/** Texts for which a pattern of numbers would take minutes. */
const [LONG_NUMBER, LONG_DIGITS] = [`1${' '.repeat(900_000)}x`, `${'1'.repeat(900_000)}x`];

/** Returns the cell of the one field, or the code of its fault. */
function taken(fields: readonly BoundField[], value: unknown): unknown {
  try {
    return answersOf(fields, NONE, value === undefined ? {} : { f: value }).cells.c;
  } catch (error) {
    return error instanceof AppError ? error.faults.map(({ param, code }) => `${param} ${code}`).join() : error;
  }
}

describe('values', () => {
  test.each<[string, BoundField[], unknown, unknown]>([
    ['a text', bound({ type: 'short_text' }), 'Ada', 'Ada'],
    ['a text with a NUL', bound({ type: 'long_text' }), 'a\u0000b', 'values.f invalid_value'],
    ['a text of two lines', bound({ type: 'short_text' }), 'a\nb', 'values.f invalid_value'],
    ['a text that is too short', bound({ type: 'long_text', min_length: 3 }), '😀😀', 'values.f invalid_value'],
    ['a text of characters of two units', bound({ type: 'long_text', max_length: 2 }), '😀😀', '😀😀'],
    ['an object for a text', bound({ type: 'short_text' }), { a: 1 }, 'values.f invalid_type'],
    ['no address', bound({ type: 'email' }), 'ada@', 'values.f invalid_value'],
    ['a script for a URL', bound({ type: 'url' }), 'javascript:alert(1)', 'values.f invalid_value'],
    ['a number as text', bound({ type: 'number' }, column('c', 'number')), ' 12 ', 12],
    ['true for a number', bound({ type: 'number' }, column('c', 'number')), true, 'values.f invalid_type'],
    ['a number below', bound({ type: 'number', min: 1 }, column('c', 'number')), 0, 'values.f invalid_value'],
    ['an hour that no day has', bound({ type: 'datetime' }, AT), '2026-02-28T25:00:00Z', 'values.f invalid_value'],
    ['a time that is cut', bound({ type: 'datetime' }, AT), '2026-02-28 9:3', 'values.f invalid_value'],
    ['a time with other separators', bound({ type: 'datetime' }, AT), '2026/2/8 9:30', '2026-02-08T09:30:00.000Z'],
    ['a time without a zone', bound({ type: 'datetime' }, AT), '2026-02-28T09:30', '2026-02-28T09:30:00.000Z'],
    ['a day for a time', bound({ type: 'datetime' }, AT), '2026-02-28', '2026-02-28T00:00:00.000Z'],
    ['a number among spaces', bound({ type: 'number' }, column('c', 'number')), LONG_NUMBER, 'values.f invalid_value'],
    ['digits without an end', bound({ type: 'number' }, column('c', 'number')), LONG_DIGITS, 'values.f invalid_value'],
    ['a rating by half', bound({ type: 'rating' }, column('c', 'rating')), 2.5, 'values.f invalid_value'],
    ['a scale above its end', bound({ type: 'scale' }, column('c', 'number')), 11, 'values.f invalid_value'],
    ['a ticked box', bound({ type: 'checkbox' }, column('c', 'checkbox')), 'on', true],
    [
      'a box that has to be ticked',
      bound({ type: 'checkbox', required: true }, column('c', 'checkbox')),
      false,
      'values.f missing_field',
    ],
    ['a day that does not exist', bound({ type: 'date' }, column('c', 'date')), '2026-02-30', 'values.f invalid_value'],
    ['a required value that is missing', bound({ type: 'short_text', required: true }), '', 'values.f missing_field'],
    [
      'blanks for a required text',
      bound({ type: 'short_text', required: true }),
      ' \u00a0\t',
      'values.f missing_field',
    ],
    ['lines without letters', bound({ type: 'long_text', required: true }), '\n \n', 'values.f missing_field'],
    ['blanks for a text that is not required', bound({ type: 'short_text' }), '  ', '  '],
    ['nothing', bound({ type: 'short_text' }), null, undefined],
    ['a default', bound({ type: 'short_text', default: 'x' }), undefined, 'x'],
    [
      'a path as the name of a file',
      bound({ type: 'file' }, column('c', 'attachment')),
      { name: '../a', content_base64: '' },
      'values.f invalid_value',
    ],
    [
      'a file of another type',
      bound({ type: 'file', accept: ['image/*'] }, column('c', 'attachment')),
      { name: 'a.pdf', content_base64: '' },
      'values.f invalid_value',
    ],
    [
      'too many files',
      bound({ type: 'file', max_files: 1 }, column('c', 'attachment')),
      [
        { name: 'a', content_base64: '' },
        { name: 'b', content_base64: '' },
      ],
      'values.f too_many_items',
    ],
  ])('%s', (_, fields, value, expected) => {
    expect(taken(fields, value)).toEqual(expected);
  });

  test('of choices are found by id, value and label, and stored like in the column', () => {
    const options = [
      { id: 'r', label: 'Red', value: 'red' },
      { id: 'b', label: 'Blue, light', value: 'blue' },
    ];
    const choices = [
      { id: 'c1', name: 'Red', color: null },
      { id: 'c2', name: 'Blue, light', color: null },
    ];
    const select = column('c', 'select', { choices });
    for (const value of ['r', 'red', 'Red', ['red']]) {
      expect(taken(bound({ type: 'single_choice', options }, select), value)).toBe('c1');
    }
    expect(taken(bound({ type: 'single_choice', options }, select), ['red', 'blue'])).toBe('values.f invalid_type');
    expect(
      taken(bound({ type: 'multi_choice', options }, column('c', 'multi_select', { choices })), 'red, blue'),
    ).toEqual(['c1', 'c2']);
    expect(taken(bound({ type: 'multi_choice', options }), ['Blue, light'])).toBe('blue');
    expect(taken(bound({ type: 'dropdown' }, select), 'c2')).toBe('c2');
  });

  test('of choices may be named often, by a name that several options have as well', () => {
    const options = [
      { id: 'a', label: 'Same', value: 'b' },
      { id: 'b', label: 'Same', value: 'other' },
    ];
    const field = bound({ type: 'multi_choice', options });
    expect(taken(field, Array(300_000).fill('other'))).toBe('other');
    expect(taken(field, ['b', 'Same'])).toBe('other, b');
    expect(taken(bound({ type: 'single_choice', options }), 'Same')).toBe('b');
  });

  test('are named by field or by column, not by both, and others are refused', () => {
    const fields = bound({ type: 'short_text' });
    expect(answersOf(fields, NONE, { c: 'x' }).cells).toEqual({ c: 'x' });
    expect(() => answersOf(fields, NONE, { c: 'x', f: 'y' })).toThrow('twice');
    expect(() => answersOf(fields, NONE, JSON.parse('{"__proto__": 1}'))).toThrow('no such field');
    const gone = new Map([['gone', { id: 'gone', column_id: 'old', type: 'number' as const, label: 'Ältere' }]]);
    for (const key of ['gone', 'old', 'Ältere', 'ÄLTERE']) {
      expect(answersOf(fields, gone, { [key]: 1 })).toMatchObject({ cells: {}, unstored: ['Ältere'] });
    }
    expect(answersOf(fields, gone, { gone: null, old: '' }).unstored).toEqual([]);
  });

  test('are accepted for every type of field', () => {
    expect(FORM_FIELD_TYPES).toHaveLength(19);
    for (const type of FORM_FIELD_TYPES)
      expect(() => bindFields({ fields: [{ id: 'f', label: 'F', type }] }, [])).not.toThrow();
  });
});

describe('conditions', () => {
  const fields: BoundField[] = [
    { id: 'a', label: 'A', type: 'number', column: column('a', 'number') },
    {
      id: 'b',
      label: 'B',
      type: 'short_text',
      required: true,
      column: column('b', 'text'),
      visible_if: { field_id: 'a', op: 'gte', value: 18 },
    },
    {
      id: 'c',
      label: 'C',
      type: 'short_text',
      column: column('c', 'text'),
      visible_if: { field_id: 'b', op: 'contains', value: 'YES' },
    },
  ];
  const cells = (given: Record<string, unknown>) => answersOf(fields, NONE, given).cells;

  test('hide their fields, and those that depend on them', () => {
    expect(cells({ a: 17, b: 'oh yes', c: 'x' })).toEqual({ a: 17 });
    expect(cells({ a: 18, b: 'oh yes', c: 'x' })).toEqual({ a: 18, b: 'oh yes', c: 'x' });
    expect(cells({ a: 18, b: 'no', c: 'x' })).toEqual({ a: 18, b: 'no' });
    expect(() => cells({ a: 20 })).toThrow('B is required');
    expect(cells({})).toEqual({});
  });

  test('take a box that is shown and not ticked as false, and as no answer', () => {
    const answersFor = (rule: Pick<Condition, 'op' | 'value'>, given: Record<string, unknown>) => {
      const boxed: BoundField[] = [
        { id: 'n', label: 'N', type: 'number', column: column('n', 'number') },
        {
          id: 'box',
          label: 'Box',
          type: 'checkbox',
          column: column('box', 'checkbox'),
          visible_if: { field_id: 'n', op: 'not_empty' },
        },
        {
          id: 'why',
          label: 'Why',
          type: 'short_text',
          column: column('why', 'text'),
          visible_if: { field_id: 'box', ...rule },
        },
      ];
      return answersOf(boxed, NONE, { why: 'x', ...given }).cells.why;
    };
    for (const box of [{}, { box: null }, { box: false }]) {
      const given = { n: 1, ...box };
      expect(answersFor({ op: 'eq', value: false }, given)).toBe('x');
      expect(answersFor({ op: 'in', value: [false] }, given)).toBe('x');
      expect(answersFor({ op: 'neq', value: true }, given)).toBe('x');
      expect(answersFor({ op: 'empty' }, given)).toBe('x');
      expect(answersFor({ op: 'neq', value: false }, given)).toBeUndefined();
      expect(answersFor({ op: 'not_empty' }, given)).toBeUndefined();
    }
    expect(answersFor({ op: 'eq', value: false }, { n: 1, box: true })).toBeUndefined();
    expect(answersFor({ op: 'not_empty' }, { n: 1, box: true })).toBe('x');
    // Who has not seen the box has not left it unticked.
    expect(answersFor({ op: 'eq', value: false }, {})).toBeUndefined();
  });

  test.each(['plan-pro', 'pro', 'Professional'])('name an option like answers: %s', (value) => {
    const options = [
      { id: 'plan-pro', label: 'Professional', value: 'pro' },
      { id: 'plan-free', label: 'Free of charge', value: 'free' },
    ];
    const answersFor = (op: 'eq' | 'neq', given: unknown) => {
      const config: { fields: FormField[] } = {
        fields: [
          { id: 'seats', label: 'Seats', type: 'number', column_id: 's', visible_if: { field_id: 'plan', op, value } },
          { id: 'plan', label: 'Plan', type: 'single_choice', column_id: 'p', options },
        ],
      };
      const { fields: both } = bindFields(config, [column('s', 'number'), column('p', 'text')]);
      return answersOf(both, NONE, { seats: 3, plan: given }).cells;
    };
    expect(answersFor('eq', 'plan-pro')).toEqual({ s: 3, p: 'pro' });
    expect(answersFor('eq', 'Free of charge')).toEqual({ p: 'free' });
    expect(answersFor('neq', 'pro')).toEqual({ p: 'pro' });
    expect(answersFor('neq', 'free')).toEqual({ s: 3, p: 'free' });
  });

  test('compare days and times as such', () => {
    const dated: BoundField[] = [
      { id: 'd', label: 'D', type: 'date', column: column('d', 'date') },
      {
        id: 'e',
        label: 'E',
        type: 'short_text',
        column: column('e', 'text'),
        visible_if: { field_id: 'd', op: 'before', value: '2026-06-01' },
      },
    ];
    expect(answersOf(dated, NONE, { d: '2026-05-31', e: 'x' }).cells).toEqual({ d: '2026-05-31', e: 'x' });
    expect(answersOf(dated, NONE, { d: '2026-06-01', e: 'x' }).cells).toEqual({ d: '2026-06-01' });
  });
});

describe('the values of a hook', () => {
  const fields = bound({ id: 'mail', label: 'E-Mail', type: 'email' }, column('col', 'email'));

  test.each([
    { mail: 'x' },
    { col: 'x' },
    { 'E-Mail': 'x' },
    { 'e-mail': 'x' },
    { theirs: 'x' },
    { values: { mail: 'x', y: 1 } },
  ])('%j', (payload) => {
    expect(hookValues(payload, fields, { theirs: 'mail' })).toEqual({ mail: 'x' });
  });

  test('without a known key are refused', () => {
    expect(() => hookValues({ x: 1 }, fields, {})).toThrow('No key of the payload');
  });
});

test('keys of a submission are looked up in proportion to their number, however many fields there are', () => {
  const given = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, 1]));
  const spent = (count: number): number => {
    const columns = Array.from({ length: count }, (_, i) => column(`c${i}`, 'text'));
    const config = {
      fields: columns.map(({ id }, i) => ({
        id: `f${i}`,
        type: 'short_text' as const,
        label: `F ${i}`,
        column_id: id,
      })),
    };
    const { fields } = bindFields(config, columns);
    const since = process.cpuUsage();
    expect(readValues(fields, NONE, given).faults).toHaveLength(50_000);
    expect(hookValues({ ...given, 'f 0': 'x' }, fields, {})).toEqual({ f0: 'x' });
    return process.cpuUsage(since).user;
  };
  spent(1);
  expect(spent(100)).toBeLessThan(10 * spent(1));
});
