import { ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import { afterAll, describe, expect, test } from '@jest/globals';
import { NO_INPUT } from '../../src/content/input.js';
import type { ContentInput } from '../../src/content/kind.js';
import { createFaults } from '../../src/tables/faults.js';
import { createTableImage, createTableView } from '../../src/tables/image.js';
import { readTableInput } from '../../src/tables/input.js';
import { openTablePlanner } from '../../src/tables/planner.js';
import { decodeRows } from '../../src/tables/rows.js';
import { ROWS_AT_ONCE } from '../../src/tables/slices.js';
import { freshHead } from '../../src/tables/state.js';
import { type Outcome, planWrite, type WriteRequest } from '../../src/tables/write.js';
import { json } from './table-world.js';

const planner = openTablePlanner({ tableThreads: 1, tableSeconds: 60, tablesWaiting: 100 });
afterAll(() => planner.close());

const COLUMNS = [
  { id: 'count', name: 'Count', type: 'number' },
  { id: 'kind', name: 'Kind', type: 'select', options: { choices: [{ name: 'Ätna' }] } },
  { id: 'number', name: 'Number', type: 'auto_number' },
];
const ROWS = Array.from({ length: 3000 }, (_, i) => ({ id: `row-${i}`, cells: { count: i, kind: 'Ätna' } }));

const requestFor = (input: Partial<ContentInput>, head: Partial<WriteRequest['head']> = {}): WriteRequest => ({
  head: { ...freshHead('0198aaaa-0000-7000-8000-000000000001', 't'), ...head },
  input: { ...NO_INPUT, ...input },
  actor: { type: 'user', id: 'u', name: 'Ülla' },
  maxRows: 200_000,
  maxChoices: 5000,
  isNewTable: true,
  isWhole: false,
});
const inThread = (request: WriteRequest) => planner.plan('t', request, Date.now() + 30_000);
const here = (request: WriteRequest) =>
  planWrite({
    ...request,
    states: {
      open: async (id, head) => ({ head: { ...head, id }, view: createTableView(createTableImage(), []) }),
      text: async () => '',
    },
    open: async () => undefined,
    breathe: async () => {},
  });

/** Returns an outcome without the times of its rows. */
const contentOf = (outcome: Outcome | undefined) => ({
  columns: outcome?.head.columns.map(({ id, name, type }) => ({ id, name, type })),
  people: outcome?.head.people,
  rowCount: outcome?.head.rowCount,
  bytes: outcome?.head.bytes,
  contents: outcome?.head.chunks.map(([, rows, , , content]) => [rows, content]),
  ids: [...(outcome?.fresh.values() ?? [])].flatMap(({ text }) => decodeRows(text).map(({ id }) => id)),
  warnings: outcome?.warnings,
  changes: outcome?.rows,
  loses: outcome?.loses,
});

describe('a thread', () => {
  test('plans a new table exactly as the calling thread does', async () => {
    const plain = COLUMNS.filter(({ type }) => type !== 'select');
    const rows = ROWS.map(({ id, cells: { count } }) => ({ id, cells: { count } }));
    const request = requestFor({ columns: json(plain), rows: json(rows) });
    const planned = contentOf(await inThread(request));
    expect(planned.ids).toEqual(rows.map(({ id }) => id));
    expect(planned).toEqual(contentOf(await here(request)));
  });

  test('keeps texts beyond ASCII and numbers its rows', async () => {
    const outcome = await inThread(requestFor({ columns: json(COLUMNS), rows: json(ROWS) }));
    const numberSlot = outcome?.head.columns.find(({ id }) => id === 'number')?.slot as number;
    const rows = [...(outcome?.fresh.values() ?? [])].flatMap(({ text }) => decodeRows(text));
    expect(rows.map(({ cells }) => cells[numberSlot])).toEqual(ROWS.map((_, i) => i + 1));
    expect(outcome?.head.people.map(({ name }) => name)).toEqual(['Ülla']);
    expect(JSON.stringify(outcome?.head.columns)).toContain('Ätna');
  });

  test('reports the faults of the rows as one error', async () => {
    const request = requestFor({ columns: json(COLUMNS), rows: json([{ cells: { count: 'many', other: 1 } }]) });
    const error = await inThread(request).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      faults: [
        { param: 'rows[0].cells.other', code: 'unknown_column' },
        { param: 'rows[0].cells.count', code: 'cell_invalid', row: 0, column_id: 'count' },
      ],
    });
    expect(await here(request).catch((thrown: unknown) => thrown)).toEqual(error);
  });

  test('leaves a write to the calling thread if it needs stored rows', async () => {
    const stored = { rowCount: 3, chunks: [[1, 3, 30, 'h', 'c']] } as Partial<WriteRequest['head']>;
    const replacing = { columns: json(COLUMNS), mode: ContentMode.REPLACE };
    const withIds = { ...requestFor({ ...replacing, rows: json(ROWS) }, stored), isNewTable: false };
    expect(await inThread(withIds)).toBeUndefined();
    const withoutIds = { ...withIds, input: { ...withIds.input, rows: json(ROWS.map(({ cells }) => cells)) } };
    expect((await inThread(withoutIds))?.head.rowCount).toBe(3000);
    expect((await inThread(withoutIds))?.loses).toBe(true);
  });
});

test('a write that takes longer than its request is refused, and the thread is replaced', async () => {
  const cells = { count: 1, kind: 'Ätna' };
  const many = json(Array.from({ length: 10_000 }, () => cells));
  const request = requestFor({ columns: json(COLUMNS), rows: many });
  await expect(planner.plan('t', request, Date.now() + 502)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    reason: 'body_too_complex',
    details: { limit_seconds: 1, setting: 'COMMONPLACE_REQUEST_TIMEOUT_MS' },
  });
  expect((await inThread(request))?.head.rowCount).toBe(10_000);
});

test('the cells of a request are counted with pauses', async () => {
  const request = requestFor({ columns: json(COLUMNS), rows: json(ROWS) });
  let pauses = 0;
  const breathe = async () => void pauses++;
  await readTableInput(request.input, createFaults(), breathe);
  expect(pauses).toBeGreaterThanOrEqual(ROWS.length / ROWS_AT_ONCE);
});
