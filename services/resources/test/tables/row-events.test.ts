import type { DomainEvent, Subscription } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openTables, type TableWorld } from './table-world.js';

let tables: TableWorld;
let subscription: Subscription;
const published: DomainEvent[] = [];

beforeAll(async () => {
  tables = await openTables();
  const types = ['commonplace.resources.row.>', 'commonplace.resources.content.updated'];
  const options = { consumer: `rows-${newId()}`, types, from: 'now', batch: 100 } as const;
  subscription = await tables.world.stage.host.bus.subscribe(options, async (events) => {
    published.push(...events);
  });
});

afterAll(async () => {
  await subscription.close();
  await tables.world.stage.close();
});

const COLUMNS = [
  { id: 'name', name: 'Name', type: 'text' },
  { id: 'n', name: 'Amount', type: 'number' },
  { id: 'note', name: 'Note', type: 'text' },
];

/** Returns the events about the rows of a table, once the content has so many changes. */
async function rowEvents(id: string, contents: number): Promise<DomainEvent[]> {
  const mine = () => published.filter(({ subject }) => subject === id);
  await eventually(async () => {
    expect(mine().filter(({ type }) => type.endsWith('content.updated'))).toHaveLength(contents);
  }, 20_000);
  // Another table's event comes behind all of these.
  const marker = await tables.create(COLUMNS, []);
  await tables.write(marker, { mode: 'append', rows: [['last']] });
  await eventually(async () => {
    expect(published.some(({ subject, type }) => subject === marker && type.endsWith('row.created'))).toBe(true);
  }, 20_000);
  return mine().filter(({ type }) => !type.endsWith('content.updated'));
}

const briefly = ({ type, data }: DomainEvent) => [type.split('.').at(-1), data.rowIds, data.changedFields];

test('publishes new, changed and deleted rows with the changed columns', async () => {
  const rows = ['a', 'b', 'c'].map((id) => ({ id, cells: { name: id, n: 1 } }));
  const id = await tables.create(COLUMNS, rows);
  const written = await tables.write(id, {
    mode: 'upsert',
    rows: [
      { id: 'a', cells: { n: 2 } },
      { id: 'b', cells: { n: 1 } },
      { id: 'd', cells: { name: 'd' } },
    ],
    gone: ['c'],
  });
  const events = await rowEvents(id, 1);
  expect(events.map(briefly).sort()).toEqual([
    ['created', ['d'], ['name']],
    ['deleted', ['c'], []],
    ['updated', ['a'], ['n']],
  ]);
  const { workspaceId } = tables.world;
  const about = { tableId: id, resourceId: id, workspaceId, contentVersion: written.version };
  for (const { data } of events) expect(data).toMatchObject(about);
});

test('groups rows by the columns that changed', async () => {
  const id = await tables.create(COLUMNS, [
    { id: 'a', cells: { name: 'a', n: 1 } },
    { id: 'b', cells: { name: 'b', n: 1 } },
  ]);
  const rows = [
    { id: 'a', cells: { n: 2 } },
    { id: 'b', cells: { note: 'new' } },
  ];
  await tables.write(id, { mode: 'upsert', rows });
  expect((await rowEvents(id, 1)).map(briefly)).toEqual([
    ['updated', ['a'], ['n']],
    ['updated', ['b'], ['note']],
  ]);
});

test('an event has at most 200 rows', async () => {
  const id = await tables.create(COLUMNS, []);
  await tables.write(id, { mode: 'append', rows: Array.from({ length: 450 }, (_, i) => [`row ${i}`, i]) });
  const events = await rowEvents(id, 1);
  expect(events.map(({ data }) => (data.rowIds as string[]).length)).toEqual([200, 200, 50]);
  const { rows } = await tables.read(id, { limit: 200 });
  expect(events[0]?.data.rowIds).toEqual(rows.map((row) => row.id));
});

test('a replacement publishes the rows that it names, and without ids only the change of content', async () => {
  const kept = ['a', 'b'].map((id) => ({ id, cells: { name: id } }));
  const id = await tables.create(COLUMNS, kept);
  const named = [
    { id: 'a', cells: { name: 'a' } },
    { id: 'x', cells: { name: 'x' } },
  ];
  await tables.write(id, { columns: COLUMNS, rows: named });
  expect((await rowEvents(id, 1)).map(briefly).sort()).toEqual([
    ['created', ['x'], ['name']],
    ['deleted', ['b'], []],
  ]);
  await tables.write(id, { columns: COLUMNS, rows: [['other']] });
  expect(await rowEvents(id, 2)).toHaveLength(2);
});

test('a write that changes nothing, or is refused, publishes nothing', async () => {
  const id = await tables.create(COLUMNS, [{ id: 'a', cells: { name: 'a', n: 1 } }]);
  await tables.write(id, { mode: 'upsert', rows: [{ id: 'a', cells: { n: 1 } }] });
  await tables.faults(id, { mode: 'upsert', rows: [{ id: 'a', cells: { n: 'many' } }] });
  expect(await rowEvents(id, 0)).toEqual([]);
});
