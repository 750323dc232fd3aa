import { expect, test } from '@jest/globals';
import type { Column } from '../../src/tables/column.js';
import { createCellOf } from '../../src/tables/compute.js';
import { createFaults } from '../../src/tables/faults.js';
import { parseFormula } from '../../src/tables/formula.js';
import { createChunkImage, createTableImage, createTableView } from '../../src/tables/image.js';
import { MAX_CELL_TEXT } from '../../src/tables/limits.js';
import { planColumns } from '../../src/tables/plan-columns.js';
import { emptyHead } from '../../src/tables/records.js';
import { encodeRow, type Row } from '../../src/tables/rows.js';
import { selectRows } from '../../src/tables/select.js';

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

test('many formulas are parsed, and a column of them is computed, with pauses', async () => {
  const formula = (i: number) => ({
    id: `f${i}`,
    name: `F${i}`,
    type: 'formula',
    options: { expression: i === 0 ? '{n} + 1' : `{f${i - 1}} + 1` },
  });
  const columns = [{ id: 'n', name: 'N', type: 'number' }, ...Array.from({ length: 100 }, (_, i) => formula(i))];
  let pauses = 0;
  const breathe = async () => void pauses++;
  const terms = { keepOthers: false, maxChoices: 0, breathe };
  const plan = await planColumns(columns, { columns: [], primary: '', nextSlot: 0 }, terms, createFaults());
  expect(pauses).toBeGreaterThanOrEqual(100);
  pauses = 0;
  const renamed = columns.map((column, i) => (i === 0 ? { ...column, name: 'Renamed' } : column));
  await planColumns(renamed, plan, terms, createFaults());
  expect(pauses).toBeGreaterThanOrEqual(200);
  const head = { ...emptyHead('t', 't'), columns: plan.columns };
  const image = createTableImage();
  const row = (i: number): Row => ({
    id: `r${i}`,
    cells: [i],
    createdAt: 0,
    updatedAt: 0,
    createdBy: 0,
    updatedBy: 0,
  });
  const rows = Array.from({ length: 30 }, (_, i) => row(i));
  image.chunks.set(1, createChunkImage(rows.length, rows.map(encodeRow).join(',\n')));
  const state = { head, view: createTableView(image, [1]) };
  pauses = 0;
  const last = plan.columns.at(-1) as Column;
  const cellOf = await createCellOf(state, [last], async () => undefined, breathe);
  expect(pauses).toBeGreaterThanOrEqual(100);
  pauses = 0;
  const { rows: order } = await selectRows(state, undefined, [{ column: last, descending: true }], 30, cellOf, breathe);
  expect([...order].slice(0, 2)).toEqual([29, 28]);
  expect(pauses).toBeGreaterThanOrEqual(30);
});
