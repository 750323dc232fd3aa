import { expect, test } from '@jest/globals';
import { parseFormula } from '../../src/tables/formula.js';
import { MAX_CELL_TEXT } from '../../src/tables/limits.js';

const LONG = 'a'.repeat(MAX_CELL_TEXT);
const evaluate = (expression: string) => parseFormula(expression).evaluate(() => LONG);

test.each([
  ['replace', 'replace({T}, "a", {T})'],
  ['concat', `concat(${Array(100).fill('{T}').join(',')})`.slice(0, 2000)],
  ['||', '{T} || {T}'],
  ['+', '{T} + {T}'],
])('refuses a text that is too long before building it: %s', (_, expression) => {
  expect(evaluate(expression)).toEqual({ error: expect.stringMatching(/too (long|much)/) });
});

test('a formula reads a limited amount of text for one row', () => {
  expect(evaluate(Array(20).fill('len({T})').join(' + '))).toEqual({ error: 'the formula reads too much text' });
  expect(evaluate('len({T}) + len({T})')).toBe(2 * MAX_CELL_TEXT);
  // Another row has a budget of its own.
  expect(evaluate('len({T}) + len({T})')).toBe(2 * MAX_CELL_TEXT);
});

test('the formulas that a cell depends on share its budget', () => {
  const inner = parseFormula('len({T})');
  const outer = parseFormula('sum({L})');
  const cellOf = () => Array.from({ length: 20 }, () => inner.evaluate(() => LONG)) as never;
  expect(outer.evaluate(cellOf)).toEqual({ error: expect.anything() });
});
