import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createChunker } from '../../src/tables/chunks.js';
import { firstBy, orderBy } from '../../src/tables/order.js';
import { type Edits, rebuild } from '../../src/tables/rebuild.js';
import { encodeRow, type Row } from '../../src/tables/rows.js';
import { compareText } from '../../src/tables/text-order.js';
import { openTables, type ShownRow, type TableWorld } from './table-world.js';

let tables: TableWorld;
beforeAll(async () => {
  tables = await openTables();
});
afterAll(() => tables.world.stage.close());

const CHOICES = ['low', 'mid', 'high'];
const COLUMNS = [
  { id: 't', name: 'Text' },
  { id: 'n', name: 'Number', type: 'number' },
  { id: 'd', name: 'Day', type: 'date' },
  { id: 'b', name: 'Flag', type: 'checkbox' },
  { id: 's', name: 'Choice', type: 'select', options: { choices: CHOICES.map((id) => ({ id, name: id })) } },
  { id: 'j', name: 'Any', type: 'json' },
];
const words = fc.constantFrom(
  '',
  'a',
  'B',
  'b',
  'ä',
  'Z',
  '10',
  '9',
  '北京',
  '上海',
  'a\nb',
  '"',
  '\ud800',
  '__proto__',
);
const numbers = fc.constantFrom(0, 1, -1, 0.1, 2.5, 1e21, 1e-7);
const days = fc.constantFrom('2026-01-01', '0001-01-01', '2024-02-29', '1999-12-31');
const row = fc.record({
  t: fc.option(words),
  n: fc.option(numbers),
  d: fc.option(days),
  b: fc.option(fc.boolean()),
  s: fc.option(fc.constantFrom(...CHOICES)),
  j: fc.option(
    fc.oneof(
      fc.boolean(),
      numbers,
      words,
      fc.array(numbers, { maxLength: 2 }),
      fc.dictionary(words, numbers, { maxKeys: 2 }),
    ),
  ),
});
const rows = fc.array(row, { maxLength: 12 });

test('a table reads back as it was written, and writing it again changes nothing', async () => {
  const id = await tables.create();
  await fc.assert(
    fc.asyncProperty(rows, async (given) => {
      await tables.write(id, { columns: COLUMNS, rows: given.map((cells) => ({ cells })) });
      const read = await tables.read(id);
      expect(read.rows.map(({ cells }) => cells)).toEqual(JSON.parse(JSON.stringify(given)));
      expect(await tables.write(id, { columns: read.columns, rows: read.rows })).toMatchObject({ changed: false });
    }),
    { numRuns: 40 },
  );
});

type Value = string | number | boolean | null;
const condition = fc.oneof(
  fc.record({ column: fc.constant('n'), op: fc.constantFrom('eq', 'neq', 'gt', 'gte', 'lt', 'lte'), value: numbers }),
  fc.record({ column: fc.constant('t'), op: fc.constantFrom('eq', 'neq', 'gt', 'lte'), value: words }),
  fc.record({ column: fc.constant('d'), op: fc.constantFrom('eq', 'neq', 'before', 'after', 'gte'), value: days }),
  fc.record({ column: fc.constant('s'), op: fc.constantFrom('eq', 'neq'), value: fc.constantFrom(...CHOICES) }),
  fc.record({
    column: fc.constantFrom('t', 'n', 'd', 's'),
    op: fc.constantFrom('empty', 'not_empty'),
    value: fc.constant(null),
  }),
);
const sorts = fc.uniqueArray(
  fc.record({ column: fc.constantFrom('t', 'n', 'd', 'b', 's'), direction: fc.constantFrom('asc', 'desc') }),
  { selector: ({ column }) => column, maxLength: 3 },
);

function compareValues(column: string, a: Value, b: Value): number {
  if (column === 't') return compareText(a as string, b as string);
  if (column === 's') return CHOICES.indexOf(a as string) - CHOICES.indexOf(b as string);
  return a === b ? 0 : (a as number) < (b as number) ? -1 : 1;
}

const blank = (value: unknown): boolean => value === null || value === '';

function holds({ cells }: ShownRow, { column, op, value }: { column: string; op: string; value: Value }): boolean {
  const cell = cells[column] as Value;
  if (op === 'empty' || op === 'not_empty') return blank(cell) === (op === 'empty');
  // For a text column, an empty cell equals an empty text.
  const mine = column === 't' ? (cell ?? '') : cell;
  if (op === 'eq') return mine === value;
  if (op === 'neq') return mine !== value;
  if (blank(cell)) return false;
  const compared = compareValues(column, cell, value);
  if (op === 'gt' || op === 'after') return compared > 0;
  if (op === 'gte') return compared >= 0;
  return op === 'lte' ? compared <= 0 : compared < 0;
}

function naive(all: ShownRow[], filters: Parameters<typeof holds>[1][], sort: { column: string; direction: string }[]) {
  return all
    .filter((each) => filters.every((filter) => holds(each, filter)))
    .sort((a, b) => {
      for (const { column, direction } of sort) {
        const [x, y] = [a.cells[column] as Value, b.cells[column] as Value];
        if (blank(x) || blank(y)) {
          if (blank(x) !== blank(y)) return blank(x) ? 1 : -1;
          continue;
        }
        const compared = compareValues(column, x, y);
        if (compared !== 0) return direction === 'desc' ? -compared : compared;
      }
      return a.position - b.position;
    });
}

test('a page equals the slice of all filtered and sorted rows, whatever its size', async () => {
  const id = await tables.create();
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 60 }),
      fc.array(condition, { maxLength: 2 }),
      sorts,
      fc.nat({ max: 20 }),
      fc.integer({ min: 1, max: 30 }),
      async (given, filters, sort, offset, limit) => {
        await tables.write(id, { columns: COLUMNS, rows: given.map((cells) => ({ cells })) });
        const { rows: all } = await tables.read(id);
        const expected = naive(all, filters, sort);
        const { rows: page, page: info } = await tables.read(id, { filter: { and: filters }, sort, offset, limit });
        expect(page.map((each) => each.id)).toEqual(expected.slice(offset, offset + limit).map((each) => each.id));
        expect(info.total).toBe(expected.length);
      },
    ),
    { numRuns: 60 },
  );
});

test('changing a few rows gives the same chunks as writing all rows anew', async () => {
  const make = (id: string, size: number): Row => ({
    id,
    createdAt: 1,
    createdBy: 0,
    updatedAt: 1,
    updatedBy: 0,
    cells: ['x'.repeat(size)],
  });
  const whole = (list: readonly Row[]) => {
    const chunker = createChunker();
    const chunks = list.flatMap((each) => chunker.push(each.id, encodeRow(each)) ?? []);
    return [...chunks, ...[chunker.flush()].flatMap((chunk) => chunk ?? [])];
  };
  const base = Array.from({ length: 3000 }, (_, i) => make(`row-${i}`, (i * 7919) % 900));
  const old = whole(base).map((chunk, i) => ({ ...chunk, number: i + 1 }));
  const texts = old.map(({ text }) => text);
  const entries = old.map(({ text: _text, ...entry }) => entry);
  const place = fc.nat({ max: 2999 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(place, { maxLength: 5 }),
      fc.uniqueArray(place, { maxLength: 5 }),
      fc.uniqueArray(fc.oneof(fc.nat({ max: 3000 }), fc.constant(3000)), { maxLength: 4 }),
      async (gone, changes, additions) => {
        const removed = new Set(gone);
        const changed = new Map(changes.map((at) => [at, make(`row-${at}`, 5)]));
        const inserted = new Map(additions.map((at) => [at, [make(`new-${at}`, at % 2000)]]));
        const edits: Edits = { removed, changed, inserted };
        const after: Row[] = [];
        for (let at = 0; at <= base.length; at++) {
          after.push(...(inserted.get(at) ?? []));
          if (at < base.length && !removed.has(at)) after.push(changed.get(at) ?? (base[at] as Row));
        }
        const pieces = await rebuild(
          entries,
          edits,
          async (chunk) => texts[chunk] as string,
          async () => {},
        );
        expect(pieces.map(({ hash }) => hash)).toEqual(whole(after).map(({ hash }) => hash));
        const fresh = pieces.filter((piece) => 'text' in piece).length;
        expect(fresh).toBeLessThanOrEqual((gone.length + changes.length + additions.length) * 4);
      },
    ),
    { numRuns: 30 },
  );
});

test('the first entries equal the beginning of the whole order', async () => {
  const values = fc.array(fc.oneof(fc.nat({ max: 5 }), fc.constant(Number.NaN), fc.constantFrom(-1.5, 0.25, 1e12)), {
    minLength: 40,
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ values, descending: fc.boolean() }), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 0, max: 45 }),
      async (given, wanted) => {
        const keys = given.map(({ values: each, descending }) => ({ values: Float64Array.from(each), descending }));
        const breathe = async () => {};
        const whole = await orderBy(keys, 40, breathe);
        expect([...(await firstBy(keys, 40, wanted, breathe))]).toEqual([...whole.subarray(0, wanted)]);
      },
    ),
  );
});
