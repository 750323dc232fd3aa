import { expect, test } from '@jest/globals';
import type { Cell } from '../../src/tables/column.js';
import { createChunkImage, createTableImage, createTableView, valueAt } from '../../src/tables/image.js';
import { BETWEEN, encodeRow, type Row } from '../../src/tables/rows.js';

const CELLS: readonly Cell[] = [
  null,
  true,
  false,
  0,
  -1.5e-7,
  1e21,
  '',
  'a',
  'a, "b" [c] {d} \\ \n',
  'ends with \\',
  '数 😀 \ud800',
  'null',
  ['a', ']', '"'],
  [],
  { error: 'x', of: [{ a: '}' }] } as unknown as Cell,
];

test('finds the same values in encoded rows as in decoded ones', async () => {
  const rows: Row[] = CELLS.map((_, i) => ({
    id: `row ${i}, ü]`,
    createdAt: 1000 + i,
    createdBy: i,
    updatedAt: 2000 + i,
    updatedBy: i + 1,
    // Rows of different lengths: empty cells at the end are not stored.
    cells: [...CELLS.slice(i), ...CELLS.slice(0, i)].slice(0, CELLS.length - (i % 5)),
  }));
  const image = createTableImage();
  image.chunks.set(0, createChunkImage(rows.length, rows.map(encodeRow).join(BETWEEN)));
  const view = createTableView(image, [0]);
  for (let slot = -5; slot < CELLS.length + 2; slot++) {
    const [loaded] = await view.load([{ slot, kind: 'term' }], async () => {});
    const values = [...(loaded?.vectors[0] ?? [])].map((code) => loaded?.terms.cells[code]);
    expect(values).toEqual(rows.map((row) => valueAt(row, slot)));
  }
});
