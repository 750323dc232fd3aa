import { beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import type { Resource, Snapshot, TableContent, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import { mode, type System } from '../src/system.js';

// A copy is one transaction within one request: on busy machines the test's MongoDB has no time for more.
const ROWS = mode === 'mesh' ? 50_000 : 200_000;
/** Rows per write, by the limit. */
const BATCH = 10_000;

let system: System;
let boss: Api;
let workspace: Workspace;
let id: string;

const COLUMNS = [
  { id: 'name', name: 'Name' },
  { id: 'amount', name: 'Amount', type: 'number' },
  { id: 'done', name: 'Done', type: 'checkbox' },
  { id: 'at', name: 'At', type: 'date' },
];

function rowsFrom(first: number): unknown[] {
  return Array.from({ length: BATCH }, (_, i) => {
    const at = first + i;
    return { id: `r${at}`, cells: { name: `Row ${at}`, amount: at % 1000, done: at % 2 === 0, at: '2026-01-01' } };
  });
}

beforeAll(async () => {
  system = await standingSystem();
  boss = api(system, system.owner.apiKey);
  workspace = (await boss.post<Workspace>('/workspaces', { name: 'Large' })).data;
  const table = { type: 'table', name: 'Large', workspace_id: workspace.id, columns: COLUMNS, rows: [] };
  id = (await boss.post<Resource>('/resources', table)).data.id;
  for (let first = 0; first < ROWS; first += BATCH) {
    const rows = { columns: COLUMNS, rows: rowsFrom(first), mode: 'append' };
    expect((await boss.patch(`/resources/${id}/content`, rows)).status).toBe(200);
  }
}, 180_000);

/** Runs slow work: it ends, and other requests are answered before. */
async function besideOthers<T>(slow: Promise<T>): Promise<T> {
  let ended = false;
  const end = slow.finally(() => {
    ended = true;
  });
  end.catch(() => {});
  let answered = 0;
  while (!ended && answered < 5) {
    const { status, text } = await boss.get(`/workspaces/${workspace.id}`);
    expect([status, text]).toEqual([200, expect.anything()]);
    if (!ended) answered++;
  }
  return end;
}

/** Returns the rows of a page in the middle and of a filter. */
async function shown(table: string): Promise<unknown> {
  const path = `/resources/${table}/content`;
  const filter = JSON.stringify({ and: [{ column: 'amount', op: 'eq', value: 7 }] });
  const sort = JSON.stringify([{ column: 'name', direction: 'desc' }]);
  const page = await boss.get<TableContent>(`${path}?limit=3&offset=9000`);
  const found = await boss.get<TableContent>(`${path}?${new URLSearchParams({ filter, sort, limit: '3' }).toString()}`);
  const cells = (content: TableContent) => content.rows.map((row) => [row.id, row.cells]);
  return { count: page.data.row_count, page: cells(page.data), found: cells(found.data), total: found.page.total };
}

test(`a table of ${ROWS} rows is saved, restored, copied, moved to the trash and purged`, async () => {
  const whole = await shown(id);
  expect(whole).toMatchObject({ count: ROWS, total: ROWS / 1000 });

  const kept = (await besideOthers(boss.post<Snapshot>(`/resources/${id}/snapshots`, { name: 'whole' }))).data;
  await boss.patch(`/resources/${id}/content`, { columns: COLUMNS, rows: [] });
  expect(await shown(id)).toMatchObject({ count: 0 });
  const restored = await besideOthers(boss.patch<TableContent>(`/resources/${id}/content`, { snapshot_id: kept.id }));
  expect(restored.data).toMatchObject({ row_count: ROWS, changed: true });
  expect(await shown(id)).toEqual(whole);

  const { data: copied } = await besideOthers(
    boss.post<{ resource: Resource }>(`/resources/${id}/copy`, { name: 'Copy' }),
  );
  await eventually(async () => expect(await shown(copied.resource.id)).toEqual(whole));

  await besideOthers(boss.del(`/resources/${id}`));
  const trash = `/workspaces/${workspace.id}/trash?resource_ids=${id}`;
  expect((await besideOthers(boss.del<{ purged_count: number }>(trash))).data).toMatchObject({ purged_count: 1 });
  expect((await boss.get(`/resources/${id}?include_trashed=true`)).status).toBe(404);
  expect(await shown(copied.resource.id)).toEqual(whole);
}, 180_000);
