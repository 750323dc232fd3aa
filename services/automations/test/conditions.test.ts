import { describe, expect, test } from '@jest/globals';
import type { ConditionOp, SimpleCondition, StoredCondition } from '../src/domain/condition.js';
import { conditionFault, conditionsHold, type Facts, pathsOf } from '../src/domain/conditions.js';
import { timeRange } from '../src/domain/times.js';

const facts = (value: unknown, changed: readonly string[] = []): Facts => ({
  scope: { trigger: { value } },
  hasChanged: (field) => changed.includes(field),
  tagName: (id) => (id === 't1' ? 'Urgent' : undefined),
});
const on = (op: ConditionOp, value?: unknown): SimpleCondition => ({ path: 'trigger.value', op, value });
const holds = (actual: unknown, op: ConditionOp, value?: unknown): boolean =>
  conditionsHold([on(op, value)], facts(actual));

describe('a condition', () => {
  test.each<[unknown, ConditionOp, unknown, boolean]>([
    ['a', 'eq', 'a', true],
    ['a', 'eq', 'A', false],
    ['a', 'neq', 'b', true],
    [3, 'eq', 3, true],
    [3, 'eq', '3', true],
    ['3.0', 'eq', 3, true],
    ['', 'eq', 0, false],
    [null, 'eq', 0, false],
    [true, 'eq', true, true],
    [undefined, 'eq', false, true],
    ['true', 'eq', true, false],
    [['a', 'b'], 'eq', ['b', 'a'], true],
    [['a', 'b'], 'eq', 'a', false],
    [['a'], 'eq', 'a', true],
    ['a', 'in', ['a', 'b'], true],
    [2, 'in', [1, 2], true],
    [['x', 'b'], 'in', ['a', 'b'], true],
    [[], 'in', ['a'], false],
    ['Grüße', 'contains', 'GRÜ', true],
    ['ｆｕｌｌ', 'contains', 'full', true],
    ['abc', 'not_contains', 'd', true],
    [undefined, 'not_contains', 'd', true],
    [['a', 'b', 'c'], 'contains', ['a', 'c'], true],
    [['a', 'b'], 'contains', ['a', 'c'], false],
    [[{ id: 'u1', name: 'Ada' }], 'contains', 'u1', true],
    [10, 'gt', 9, true],
    ['10', 'gt', '9', true],
    [null, 'lt', 9, false],
    [undefined, 'gte', 0, false],
    ['b', 'gt', 'a', true],
    ['item 10', 'gt', 'item 9', true],
    [9, 'lte', 9, true],
    ['2026-03-01', 'before', '2026-03-02', true],
    ['2026-03-01T23:59:00Z', 'after', '2026-03-01', false],
    ['2026-03-02T00:00:00Z', 'after', '2026-03-01', true],
    ['2026-03-01T23:59:00Z', 'lte', '2026-03-01', true],
    ['2026-03-01T12:00:00+02:00', 'eq', '2026-03-01', true],
    ['2026-03-01T01:00:00+02:00', 'eq', '2026-03-01', false],
    ['soon', 'before', '2026-03-01', false],
    ['', 'empty', undefined, true],
    [[], 'empty', undefined, true],
    [0, 'empty', undefined, false],
    [false, 'not_empty', undefined, true],
    [null, 'exists', undefined, true],
    [undefined, 'exists', undefined, false],
    [undefined, 'not_exists', undefined, true],
    [{ a: 1 }, 'eq', '[object Object]', false],
    [{ a: 1 }, 'contains', 'object', false],
    [{ tags: ['t1'] }, 'matches_tag', 't1', true],
    [{ tags: ['t1'] }, 'matches_tag', 'urgent', true],
    [[{ id: 't2', name: 'Later' }], 'matches_tag', 'LATER', true],
    [{ tags: ['t1'] }, 'matches_tag', 'later', false],
    [{ tags: 't1' }, 'matches_tag', 't1', false],
  ])('on %j with %s %j is %s', (actual, op, value, expected) => {
    expect(holds(actual, op, value)).toBe(expected);
  });

  test('detects what the trigger has changed', () => {
    const changed = facts('done', ['value']);
    expect(conditionsHold([on('changed')], changed)).toBe(true);
    expect(conditionsHold([on('changed_to', 'done')], changed)).toBe(true);
    expect(conditionsHold([on('changed_to', 'open')], changed)).toBe(false);
    expect(conditionsHold([on('changed'), on('changed_to', 'done')], facts('done', ['other']))).toBe(false);
  });

  test('is combined with others: all must hold, of a group at least one', () => {
    const group: StoredCondition = { any: [on('eq', 'a'), on('eq', 'b')] };
    expect(conditionsHold([], facts(1))).toBe(true);
    expect(conditionsHold([group], facts('b'))).toBe(true);
    expect(conditionsHold([group, on('eq', 'a')], facts('b'))).toBe(false);
    expect(conditionsHold([{ any: [] }], facts('b'))).toBe(false);
    expect(pathsOf([group, on('exists')])).toHaveLength(3);
  });

  test('ignores properties that JavaScript adds, and is not misled by hostile data', () => {
    for (const path of ['trigger.__proto__', 'trigger.constructor', 'trigger.value.toString', 'toString']) {
      expect(conditionsHold([{ path, op: 'exists' }], facts({}))).toBe(false);
    }
    const hostile = [{ toString: 1, valueOf: 1, id: { toString: 1 } }, Object.create(null), [[[]]], { length: -1 }];
    for (const op of ['eq', 'contains', 'in', 'gt', 'before', 'matches_tag', 'changed_to'] as const) {
      for (const actual of [...hostile, hostile]) expect(holds(actual, op, op === 'in' ? ['x'] : 'x')).toBe(false);
    }
  });

  test('looks at a limited part of long data', () => {
    const long = 'ﷺ'.repeat(1_000_000);
    const list = Array.from({ length: 500_000 }, (_, i) => i);
    const many: StoredCondition[] = Array.from({ length: 10 }, () => ({
      any: Array.from({ length: 10 }, () => on('contains', 'needle')),
    }));
    expect(conditionsHold(many, facts(long))).toBe(false);
    expect(conditionsHold(many, facts(list))).toBe(false);
    expect(holds(long, 'gt', 'x'.repeat(4_000))).toBe(true);
    expect(holds(list, 'contains', 9_999)).toBe(true);
  });
});

describe('a condition that is saved', () => {
  test.each<[ConditionOp, unknown]>([
    ['eq', 'a'],
    ['eq', ['a', 1]],
    ['neq', false],
    ['in', ['a']],
    ['contains', ['a']],
    ['gt', 3],
    ['lte', '2026-01-01'],
    ['before', '2026-01-01T00:00:00Z'],
    ['empty', undefined],
    ['changed', undefined],
    ['changed_to', 'done'],
    ['matches_tag', 'Urgent'],
  ])('may be %s %j', (op, value) => {
    expect(conditionFault(on(op, value))).toBeUndefined();
  });

  test.each<[ConditionOp, unknown]>([
    ['eq', undefined],
    ['eq', null],
    ['eq', { a: 1 }],
    ['eq', [{ a: 1 }]],
    ['in', 'a'],
    ['in', Array.from({ length: 101 }, () => 1)],
    ['contains', 'x'.repeat(5_000)],
    ['gt', true],
    ['gt', [1]],
    ['before', 'tomorrow'],
    ['after', '2026-02-30'],
    ['empty', true],
    ['exists', 1],
    ['matches_tag', 1],
    ['changed_to', undefined],
  ])('is refused as %s %j', (op, value) => {
    expect(conditionFault(on(op, value))?.at).toBe('value');
  });

  test('requires a path', () => {
    expect(conditionFault({ path: 'trigger..x', op: 'exists' })?.at).toBe('path');
    expect(conditionFault({ path: '{{trigger.x}}', op: 'exists' })?.at).toBe('path');
  });
});

test('times are calendar days and instants', () => {
  expect(timeRange('2024-02-29')?.from).toBe(Date.UTC(2024, 1, 29));
  expect(timeRange('2024-02-29T10:00:00.123456+05:30')?.from).toBe(Date.UTC(2024, 1, 29, 4, 30, 0, 123));
  for (const text of ['2023-02-29', '2026-13-01', '2026-01-01T25:00:00Z', '1', '2026', 'x'.repeat(1e6), 5, null]) {
    expect(timeRange(text)).toBeUndefined();
  }
});
