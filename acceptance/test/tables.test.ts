import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { signUp } from '../src/people.js';
import type { List, Resource, Snapshot, TableContent, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

let system: System;
let boss: Api;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  boss = api(system, system.owner.apiKey);
  workspace = (await boss.post<Workspace>('/workspaces', { name: 'Tables' })).data;
});

const COLUMNS = [
  { id: 'name', name: 'Name', required: true },
  { id: 'amount', name: 'Amount', type: 'currency', options: { currency: 'EUR', min: 0 } },
  {
    id: 'stage',
    name: 'Stage',
    type: 'select',
    options: {
      choices: [
        { id: 'new', name: 'New' },
        { id: 'won', name: 'Won' },
      ],
    },
  },
  { id: 'half', name: 'Half', type: 'formula', options: { expression: '{Amount} / 2' } },
];
const ROWS = [
  { id: 'r1', cells: { name: 'Acme', amount: 10, stage: 'new' } },
  { Name: 'Globex', Amount: 30, Stage: 'Won' },
  ['Initech', 20],
];

async function create(columns: unknown = COLUMNS, rows: unknown = ROWS): Promise<string> {
  const body = { type: 'table', name: 'Leads', workspace_id: workspace.id, columns, rows };
  return (await boss.post<Resource>('/resources', body)).data.id;
}

const pathOf = (id: string, query: Record<string, string> = {}) =>
  `/resources/${id}/content?${new URLSearchParams(query).toString()}`;
const read = async (id: string, query?: Record<string, string>) => boss.get<TableContent>(pathOf(id, query));
const write = async (id: string, body: object) => boss.patch<TableContent>(`/resources/${id}/content`, body);
const names = ({ rows }: TableContent) => rows.map(({ cells }) => cells.name);

test('a table is created with columns and rows, and returned unchanged', async () => {
  const id = await create();
  const { data, page } = await read(id);
  expect(data).toMatchObject({ type: 'table', version: 1, row_count: 3, primary_column_id: 'name' });
  expect(data.columns.map(({ id: column, type, is_primary }) => [column, type, is_primary])).toEqual([
    ['name', 'text', true],
    ['amount', 'currency', false],
    ['stage', 'select', false],
    ['half', 'formula', false],
  ]);
  expect(data.rows.map(({ cells }) => cells)).toEqual([
    { name: 'Acme', amount: 10, stage: 'new', half: 5 },
    { name: 'Globex', amount: 30, stage: 'won', half: 15 },
    { name: 'Initech', amount: 20, stage: null, half: 10 },
  ]);
  expect(data.rows[0]).toMatchObject({ id: 'r1', position: 0, created_at: expect.any(String) });
  expect(page).toMatchObject({ total: 3, limit: 100, has_more: false });
  expect((await boss.get<Resource>(`/resources/${id}`)).data.type).toBe('table');
});

test('replaces, appends and upserts rows', async () => {
  const id = await create();
  const before = (await read(id)).data;
  const same = await write(id, { columns: before.columns, rows: before.rows, base_version: 1 });
  expect(same.data).toMatchObject({ changed: false, version: 1 });

  const added = await write(id, { mode: 'append', rows: [{ name: 'Umbrella' }] });
  expect(added.data).toMatchObject({ changed: true, version: 2, row_count: 4 });

  const upserted = await write(id, {
    mode: 'upsert',
    key_column_id: 'name',
    rows: [{ name: 'Acme', stage: 'Won' }, { name: 'Hooli' }],
    delete_row_ids: [before.rows[2]?.id],
  });
  expect(names(upserted.data)).toEqual(['Acme', 'Globex', 'Umbrella', 'Hooli']);
  expect(upserted.data.rows[0]?.cells).toMatchObject({ amount: 10, stage: 'won' });

  const replaced = await write(id, { columns: COLUMNS, rows: [['Only', 1]], base_version: 3 });
  expect(replaced.data).toMatchObject({ version: 4, row_count: 1, snapshot_id: expect.any(String) });
  const { data: snapshots } = await boss.get<List<Snapshot>>(`/resources/${id}/snapshots`);
  expect(snapshots.items.length).toBeGreaterThan(0);
  const restored = await write(id, { snapshot_id: replaced.data.snapshot_id });
  expect(names(restored.data)).toEqual(['Acme', 'Globex', 'Umbrella', 'Hooli']);
  expect((await write(id, { mode: 'append', rows: [['x']], base_version: 1 })).error.code).toBe('version_conflict');
});

test('all errors of a write are reported at once, by row and column, and nothing is written', async () => {
  const id = await create();
  const rows = [{ name: 'ok', amount: -1 }, { name: 'ok', stage: 'Lost' }, { amount: 'ten' }, { name: 'ok', zip: 1 }];
  const { status, error } = await write(id, { columns: COLUMNS, rows });
  expect([status, error.code]).toEqual([400, 'validation_failed']);
  const faults = error.details as readonly { row?: number; column_id?: string; code: string; param: string }[];
  expect(faults.map(({ row, column_id, code, param }) => [row ?? null, column_id ?? null, code, param])).toEqual([
    [null, null, 'unknown_column', 'rows[3].zip'],
    [0, 'amount', 'cell_invalid', 'rows[0].cells.amount'],
    [1, 'stage', 'cell_invalid', 'rows[1].cells.stage'],
    [2, 'name', 'cell_invalid', 'rows[2].cells.name'],
    [2, 'amount', 'cell_invalid', 'rows[2].cells.amount'],
  ]);
  for (const [body, code] of [
    [{ columns: [], rows: [] }, 'empty_columns'],
    [
      {
        columns: [
          { id: 'a', name: 'A' },
          { id: 'a', name: 'B' },
        ],
        rows: [],
      },
      'duplicate_column_id',
    ],
    [{ columns: 'Name', rows: [] }, 'invalid_type'],
    [{ columns: COLUMNS }, 'missing_field'],
    [{ columns: COLUMNS, rows: [{ half: 1, name: 'x' }] }, 'cell_invalid'],
    [{ mode: 'upsert', key_column_id: 'zip', rows: [{ name: 'x' }] }, 'unknown_column'],
    [{ mode: 'edit', columns: COLUMNS, rows: [] }, 'invalid_value'],
    [{ markdown: '# Text' }, 'content_not_supported'],
  ] as const) {
    const refused = await write(id, body);
    expect([refused.status, refused.error.code]).toEqual([400, code]);
  }
  const empty = await write(id, { mode: 'append' });
  expect(empty.error).toMatchObject({ code: 'missing_field', message: 'rows is required.' });
  const twice = await write(id, { content: { columns: COLUMNS, rows: [] }, columns: COLUMNS, rows: [] });
  expect(twice.error.message).toBe('columns: Send only one of content and columns.');
  expect((await read(id)).data).toMatchObject({ version: 1, row_count: 3 });
});

test('typecast converts values and creates choices', async () => {
  const id = await create();
  const { data } = await write(id, {
    columns: COLUMNS,
    rows: [{ name: 7, amount: '1,500.50 €', stage: 'Lost' }],
    typecast: true,
  });
  expect(data.rows[0]?.cells).toMatchObject({ name: '7', amount: 1500.5 });
  expect((await read(id, { cell_format: 'display', columns: 'stage,amount' })).data.rows[0]?.cells).toEqual({
    stage: 'Lost',
    amount: '1500.50 EUR',
  });
});

test('pages by filter and sort', async () => {
  const rows = Array.from({ length: 250 }, (_, i) => ({
    name: `Lead ${i}`,
    amount: (i * 37) % 250,
    stage: i % 2 ? 'new' : 'won',
  }));
  const id = await create(COLUMNS, rows);
  const query = {
    filter: JSON.stringify({
      and: [
        { column: 'stage', op: 'eq', value: 'New' },
        { column: 'amount', op: 'gte', value: 50 },
      ],
    }),
    sort: JSON.stringify([{ column: 'amount', direction: 'desc' }]),
    limit: '40',
  };
  const expected = rows.filter((row) => row.stage === 'new' && row.amount >= 50).sort((a, b) => b.amount - a.amount);
  const seen: unknown[] = [];
  let cursor: string | null | undefined;
  do {
    const { data, page } = await read(id, { ...query, ...(cursor ? { cursor } : {}) });
    expect(page?.total).toBe(expected.length);
    seen.push(...names(data));
    cursor = page?.next_cursor;
  } while (cursor);
  expect(seen).toEqual(expected.map(({ name }) => name));
  const second = await read(id, { ...query, offset: '40' });
  expect(names(second.data)).toEqual(seen.slice(40, 80));
  for (const [bad, code] of [
    [{ filter: '{' }, 'invalid_filter'],
    [{ filter: '{"and":[{"column":"zip","op":"eq","value":1}]}' }, 'unknown_column'],
    [{ sort: '[{"column":"amount","direction":"up"}]' }, 'invalid_value'],
    [{ columns: 'zip' }, 'unknown_column'],
    [{ cursor: 'nonsense' }, 'invalid_pagination'],
  ] as const) {
    const { status, error } = await read(id, bad);
    expect([status, error.code]).toEqual([400, code]);
  }
});

test('concurrent writers lose no row', async () => {
  const id = await create([{ id: 'n', name: 'N', type: 'number' }], []);
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => write(id, { mode: 'append', rows: [[n]] })));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const { data } = await read(id);
  expect(data.rows.map(({ cells }) => Number(cells.n)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 12 }, (_, n) => n),
  );
});

test('a column links to tables that the caller can read, and to nothing else', async () => {
  const link = (target: string) => [{ id: 'to', name: 'To', type: 'link', options: { target_table_id: target } }];
  const target = await create();
  const page = await boss.post<Resource>('/resources', { type: 'document', name: 'P', workspace_id: workspace.id });
  const guest = await signUp(system, 'Linker');
  const own = await api(system, guest.session).post<Workspace>('/workspaces', { name: 'Own' });
  const theirs = { type: 'table', name: 'T', workspace_id: own.data.id };
  const hidden = await api(system, guest.session).post<Resource>('/resources', theirs);
  const id = await create(link(target), []);
  for (const other of [page.data.id, hidden.data.id, randomUUID()]) {
    const made = { type: 'table', name: 'L', workspace_id: workspace.id, columns: link(other), rows: [] };
    for (const refused of [await boss.post('/resources', made), await write(id, { columns: link(other), rows: [] })]) {
      expect(refused.status).toBe(400);
      expect(refused.error).toMatchObject({ code: 'invalid_value', param: 'columns' });
    }
  }
  expect((await write(id, { mode: 'append', columns: link(id) })).status).toBe(200);
  await write(id, { mode: 'append', columns: link(target) });
  await boss.del(`/resources/${target}`);
  const { columns, rows } = (await read(id)).data;
  expect((await write(id, { columns, rows })).status).toBe(200);
});
