import { ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { diffTables } from '../../src/tables/diff.js';
import { BETWEEN, encodeRow } from '../../src/tables/rows.js';
import { freshHead, type TableStates } from '../../src/tables/state.js';
import type { Head } from '../../src/tables/write.js';
import { openTables, type TableWorld } from './table-world.js';

let tables: TableWorld;

beforeAll(async () => {
  tables = await openTables();
});

afterAll(() => tables?.world.stage.close());

interface RowChange {
  readonly id: string;
  readonly change: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
}

async function snapshotOf(resourceId: string): Promise<string> {
  const { world, editor } = tables;
  return (await world.snapshots.createSnapshot({ resourceId }, await world.stage.as(editor))).id;
}

async function diff(resourceId: string, snapshotId: string) {
  const { world, editor } = tables;
  const request = { resourceId, snapshotId, diffTo: 'current', format: ContentFormat.UNSPECIFIED, page: undefined };
  const { diff: found } = await world.snapshots.getSnapshot(request, await world.stage.as(editor));
  if (found === undefined) throw new Error('there is no diff');
  const { added, removed, changed, truncated } = found;
  return { added, removed, changed, truncated, rows: JSON.parse(found.rows.toString()) as RowChange[] };
}

const ROW = { createdAt: 0, createdBy: 0, updatedAt: 0, updatedBy: 0 };

const columnsNamed = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `c${i}`, name: `C${i}` }));

describe('a diff of a table', () => {
  test('can pause at each row, however many differ', async () => {
    const chunkOf = (value: string) =>
      Array.from({ length: 500 }, (_, row) => encodeRow({ ...ROW, id: `r${row}`, cells: [value] })).join(BETWEEN);
    const texts = new Map([1, 2].map((number) => [number, chunkOf(`value ${number}`)]));
    const headOf = (number: number): Head => ({
      ...freshHead('table', 'tenant'),
      chunks: [[number, 500, 0, '', '']],
    });
    const states = { text: async (_id, entries, i) => texts.get(entries[i]?.number ?? 0) ?? '' } as Pick<
      TableStates,
      'text'
    >;
    let pauses = 0;
    const found = await diffTables('table', headOf(1), headOf(2), states as TableStates, async () => {
      pauses++;
    });
    expect([found.changed, found.truncated]).toEqual([500, true]);
    expect(pauses).toBe(4 * 500);
  });

  test('lists no further rows after 2 MiB, and counts them', async () => {
    const columns = columnsNamed(2);
    const long = 'x'.repeat(90_000);
    const id = await tables.create(columns, []);
    const snapshot = await snapshotOf(id);
    const rows = Array.from({ length: 50 }, (_, row) => ({ id: `r${row}`, cells: { c0: long } }));
    await tables.write(id, { columns, rows });
    const { added, truncated, rows: listed } = await diff(id, snapshot);
    expect([added, truncated]).toEqual([50, true]);
    expect(listed.length).toBeGreaterThan(20);
    expect(listed.length).toBeLessThan(30);
  });

  test('finds cells that differ, also if a column has gone or was added', async () => {
    const columns = columnsNamed(3);
    const rows = [
      { id: 'a', cells: { c0: 'one', c1: 'left' } },
      { id: 'b', cells: { c0: 'two' } },
      { id: 'c', cells: { c0: 'three', c2: 'kept' } },
    ];
    const id = await tables.create(columns, rows);
    const snapshot = await snapshotOf(id);
    await tables.write(id, {
      columns: [columns[0], columns[2], { id: 'd', name: 'D' }],
      rows: [
        { id: 'a', cells: { c0: 'one' } },
        { id: 'b', cells: { c0: 'two', d: 'new' } },
        { id: 'e', cells: { c0: 'five' } },
      ],
    });
    expect(await diff(id, snapshot)).toEqual({
      added: 1,
      removed: 1,
      changed: 2,
      truncated: false,
      rows: [
        { id: 'a', change: 'changed', before: { c1: 'left' }, after: { c1: null } },
        { id: 'b', change: 'changed', before: { d: null }, after: { d: 'new' } },
        { id: 'e', change: 'added', before: null, after: { c0: 'five', c2: null, d: null } },
        { id: 'c', change: 'removed', before: { c0: 'three', c1: null, c2: 'kept' }, after: null },
      ],
    });
  });
});
