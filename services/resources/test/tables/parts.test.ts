import { expect, test } from '@jest/globals';
import { type ChunkEntry, partOf } from '../../src/tables/chunks.js';
import type { Row } from '../../src/tables/rows.js';

const OPEN: readonly ChunkEntry[] = [{ number: 0, rows: 1, bytes: 100, hash: 'a', content: 'b' }];

/** Makes rows with a cell of some characters, and records which of them are encoded. */
function makeRows(count: number, chars: number) {
  const encoded = new Set<number>();
  const rows = Array.from({ length: count }, (_, i): Row => {
    const facts = { id: `r${i}`, createdAt: 1, createdBy: 0, updatedAt: 1, updatedBy: 0 };
    const cells = ['x'.repeat(chars)];
    return Object.defineProperty({ ...facts, cells }, 'cells', { get: () => encoded.add(i) && cells });
  });
  return { rows, encoded };
}

test('a few appended rows are a part of their own', () => {
  const { rows } = makeRows(3, 10);
  expect(partOf(OPEN, rows)).toMatchObject({ rows: 3, bytes: 93, open: true });
});

test('rows that are too many for a part are not encoded, of too long ones only the first', () => {
  const many = makeRows(10_000, 10);
  expect(partOf(OPEN, many.rows)).toBeUndefined();
  expect(many.encoded.size).toBe(0);
  const long = makeRows(80, 100_000);
  expect(partOf(OPEN, long.rows)).toBeUndefined();
  expect(long.encoded.size).toBeLessThan(8);
});
