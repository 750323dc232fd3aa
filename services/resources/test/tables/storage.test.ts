import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Store, UnitOfWork } from '@commonplace/kit/store';
import { CellFormat, ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { NO_INPUT } from '../../src/content/input.js';
import type { ContentInput, PreparedWrite } from '../../src/content/kind.js';
import type { Node } from '../../src/domain/node.js';
import type { TableParts } from '../../src/tables/engine.js';
import { createTableKind, type TableKind } from '../../src/tables/kind.js';
import { openTablePlanner } from '../../src/tables/planner.js';
import type { SignedRow } from '../../src/tables/read.js';
import { chunkCollection, headCollection, keptId } from '../../src/tables/records.js';
import { json } from './table-world.js';

const node = { id: '0198aaaa-0000-7000-8000-000000000001', tenant: 't', type: 'table' } as unknown as Node;
const COLUMNS = json([{ id: 'a', name: 'A', type: 'number' }]);
const QUERY = {
  page: { limit: 1000, offset: 0, cursor: '' },
  filter: '',
  sort: '',
  columns: [],
  cellFormat: CellFormat.RAW,
};

let database: TestDatabase;
let store: Store;
let parts: TableParts;
let kind: TableKind;
const planner = openTablePlanner({ tableThreads: 1, tableSeconds: 60, tablesWaiting: 100 });
afterAll(() => planner.close());
beforeEach(async () => {
  database = await openTestDatabase();
  store = database.store('resources');
  parts = {
    heads: await store.collection(headCollection),
    chunks: await store.collection(chunkCollection),
    settings: { tableRows: 5000, tableChoices: 5000, tableCacheBytes: 1 },
    planner,
    readableAmong: async (ids: readonly string[]) => new Set(ids),
    columnWarnings: async () => [],
  };
  kind = createTableKind(parts);
});
afterEach(async () => {
  await database.close();
});

const contextOf = (work: UnitOfWork) =>
  ({
    work,
    actor: { type: 'user', id: 'u', name: 'U' },
    signal: new AbortController().signal,
    deadline: Date.now() + 60_000,
  }) as unknown as CallContext;

async function inWork<T>(act: (context: CallContext) => Promise<T>): Promise<T> {
  const work = store.begin();
  const result = await act(contextOf(work));
  await work.commit();
  return result;
}

const put = (prepare: (context: CallContext) => Promise<PreparedWrite> | PreparedWrite) =>
  inWork(async (context) => {
    const prepared = await prepare(context);
    if (prepared.changed) await prepared.apply();
    return prepared;
  });

const write = (input: Partial<ContentInput>) => put((context) => kind.write(node, { ...NO_INPUT, ...input }, context));
const upsert = (rows: unknown[], gone: string[] = []) =>
  write({ rows: json(rows), mode: ContentMode.UPSERT, deleteRowIds: gone });
const rowIds = async (snapshotId?: string): Promise<string[]> => {
  const context = contextOf(store.begin());
  const query = { ...QUERY, format: NO_INPUT.format };
  const { rows } = await (snapshotId === undefined
    ? kind.read(node, query, context)
    : kind.readKept(node, snapshotId, query, context));
  return (JSON.parse(String(rows)) as { id: string }[]).map(({ id }) => id);
};
const stored = async (): Promise<number> => parts.chunks.count({ tenant: 't' });
const chunksOfHead = async (): Promise<number> => (await parts.heads.get(node.id))?.chunks.length ?? 0;
const many = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ id: `row-${from + i}`, cells: { a: from + i } }));

const make = () =>
  put((context) => kind.create(node, { ...NO_INPUT, columns: COLUMNS, rows: json(many(0, 3000)) }, context));

test('changing one row writes one chunk and deletes the replaced one', async () => {
  await make();
  const chunks = await chunksOfHead();
  expect(chunks).toBeGreaterThan(5);
  const before = (await parts.heads.get(node.id))?.chunks.map(([number]) => number) ?? [];
  await upsert([{ id: 'row-1500', cells: { a: -1 } }]);
  const after = (await parts.heads.get(node.id))?.chunks.map(([number]) => number) ?? [];
  expect(after.filter((number) => !before.includes(number))).toHaveLength(1);
  expect(await stored()).toBe(chunks);
});

test('all tables that new columns link to are asked for together, each once', async () => {
  const asked: (readonly string[])[] = [];
  const readableAmong = async (ids: readonly string[]) => {
    asked.push(ids);
    return new Set(ids);
  };
  kind = createTableKind({ ...parts, readableAmong });
  const links = (...targets: string[]) =>
    json(targets.map((to, at) => ({ id: `l${at}`, name: `L${at}`, type: 'link', options: { target_table_id: to } })));
  const [one, other, more] = [newId(), newId(), newId()];
  await put((context) => kind.create(node, { ...NO_INPUT, columns: links(one, other, one) }, context));
  await write({ columns: links(one, other, one, other), rows: json([]) });
  await write({ columns: links(one, more, more, one), rows: json([]) });
  expect(asked).toEqual([[one, other], [more]]);
});

test('a kept state shares equal chunks, and exists until it is deleted', async () => {
  await make();
  const chunks = await chunksOfHead();
  const first = await inWork((context) => kind.keep(node, 's1', context));
  expect(await inWork((context) => kind.keep(node, 's2', context))).toEqual(first);
  expect(await stored()).toBe(chunks);
  await upsert([{ id: 'row-0', cells: { a: -1 } }], ['row-2999']);
  expect(await stored()).toBeLessThanOrEqual(chunks + 2);
  expect(await rowIds('s1')).toHaveLength(1000);
  expect((await inWork((context) => kind.keep(node, 's3', context))).hash).not.toBe(first.hash);
  await inWork((context) => kind.forget(node, 's1', context));
  expect(await rowIds('s2')).toContain('row-0');
  await inWork(async (context) => {
    await kind.forget(node, 's2', context);
    await kind.forget(node, 's3', context);
  });
  expect(await stored()).toBe(await chunksOfHead());
});

test('a state that is added later shares equal chunks and can be restored', async () => {
  const rowFacts = many(0, 3000).map(() => ({ createdAt: 1000 }));
  const input = { ...NO_INPUT, columns: COLUMNS, rows: json(many(0, 3000)), rowFacts };
  await put((context) => kind.create(node, input, context));
  const chunks = await chunksOfHead();
  const columns = [
    { id: 'b', name: 'B', type: 'text' },
    { id: 'a', name: 'A', type: 'number' },
  ];
  const older = many(0, 2000).map(({ id, cells }) => ({ id, cells: { ...cells, b: `was ${cells.a}` } }));
  const keep = (snapshotId: string, given: object[], rows: unknown[]) =>
    inWork(async (context) => {
      const brought = { ...NO_INPUT, columns: json(given), rows: json(rows), rowFacts };
      await kind.keepInput?.(node, snapshotId, brought, context);
    });
  await keep('s1', columns, older);
  await keep('s2', [{ id: 'a', name: 'A', type: 'number' }], many(0, 3000));
  const kept = await stored();
  expect((await parts.heads.get(keptId(node.id, 's2')))?.chunks.every(([number]) => number <= chunks)).toBe(true);
  await keep('s3', columns, older);
  expect(await stored()).toBe(kept + ((await parts.heads.get(keptId(node.id, 's3')))?.chunks.length ?? 0));
  await expect(
    keep('s4', [{ id: 'a', name: 'A', type: 'number' }], [{ id: 'x', cells: { a: 'no number' } }]),
  ).rejects.toThrow();
  expect([await rowIds('s1'), (await rowIds('s2')).length]).toEqual([many(0, 1000).map(({ id }) => id), 1000]);

  await put((context) => kind.restore(node, 's1', context));
  await write({ columns: json([{ id: 'c', name: 'C' }]), mode: ContentMode.APPEND });
  await upsert([{ id: 'row-1', cells: { c: 'new' } }]);
  const read = await kind.read(node, { ...QUERY, format: NO_INPUT.format }, contextOf(store.begin()));
  expect(JSON.parse(String(read.rows)).slice(0, 2)).toMatchObject([
    { cells: { a: 0, b: 'was 0', c: null } },
    { cells: { a: 1, b: 'was 1', c: 'new' } },
  ]);
  await inWork(async (context) => {
    for (const snapshotId of ['s3', 's1', 's2']) await kind.forget(node, snapshotId, context);
  });
  expect(await stored()).toBe(await chunksOfHead());
});

test('rows from an archive keep their authors, times and numbers', async () => {
  const columns = [
    { id: 'a', name: 'A', type: 'number' },
    { id: 'n', name: 'N', type: 'auto_number' },
  ];
  const one = { type: 'import', id: 'i', name: 'One' } as const;
  const two = { ...one, name: 'Two' };
  const rowFacts = [
    { createdAt: 1000, createdBy: one, updatedAt: 2000, updatedBy: two, numbers: { n: 7 } },
    { numbers: { n: 3 } },
  ];
  const rows = json(many(0, 2));
  await put((context) => kind.create(node, { ...NO_INPUT, columns: json(columns), rows, rowFacts }, context));
  await upsert(many(2, 3));
  const query = { ...QUERY, format: NO_INPUT.format };
  const { page, people } = await kind.signed(node, undefined, query, contextOf(store.begin()));
  const shown = JSON.parse(String(page.rows)) as SignedRow[];
  const signed = shown.map(({ cells, created_by, updated_by }) => [
    cells.n,
    people[created_by]?.name,
    people[updated_by]?.name,
  ]);
  expect(signed).toEqual([
    [7, 'One', 'Two'],
    [3, 'U', 'U'],
    [8, 'U', 'U'],
  ]);
  expect(shown[0]).toMatchObject({ created_at: '1970-01-01T00:00:01.000Z', updated_at: '1970-01-01T00:00:02.000Z' });
});

test('keeps and replaces in one unit of work, like a write with a snapshot', async () => {
  await make();
  await inWork(async (context) => {
    const prepared = await kind.write(node, { ...NO_INPUT, columns: COLUMNS, rows: json(many(0, 3)) }, context);
    expect(prepared).toMatchObject({ changed: true, loses: true });
    await kind.keep(node, 's1', context);
    await prepared.apply();
  });
  expect(await rowIds()).toEqual(['row-0', 'row-1', 'row-2']);
  expect(await rowIds('s1')).toHaveLength(1000);
  const restored = await put((context) => kind.restore(node, 's1', context));
  expect(restored).toMatchObject({ changed: true, loses: true });
  expect(await rowIds()).toHaveLength(1000);
  await inWork((context) => kind.forget(node, 's1', context));
  expect(await rowIds()).toHaveLength(1000);
  expect(await stored()).toBe(await chunksOfHead());
});

test('deleting a table leaves only its kept states, and deleting these leaves nothing', async () => {
  await make();
  await inWork((context) => kind.keep(node, 's1', context));
  await upsert(many(5000, 5010));
  await inWork((context) => kind.remove(node, context));
  expect(await rowIds('s1')).toHaveLength(1000);
  await inWork((context) => kind.forget(node, 's1', context));
  expect(await stored()).toBe(0);
  expect(await parts.heads.count({ tenant: 't' })).toBe(0);
});

test('deletes the table and its kept states in one unit of work', async () => {
  await make();
  await inWork((context) => kind.keep(node, 's1', context));
  await inWork(async (context) => {
    await kind.remove(node, context);
    await kind.forget(node, 's1', context);
  });
  expect(await stored()).toBe(0);
  expect(await parts.heads.count({ tenant: 't' })).toBe(0);
});

test('a copy has its own rows with the same ids, and its links to itself point to the copy', async () => {
  const columns = [
    { id: 'a', name: 'A', type: 'number' },
    { id: 'l', name: 'L', type: 'link', options: { target_table_id: node.id } },
  ];
  await put((context) => kind.create(node, { ...NO_INPUT, columns: json(columns), rows: json(many(0, 10)) }, context));
  const to = { ...node, id: '0198aaaa-0000-7000-8000-000000000002' };
  await put((context) => kind.copy(node, to, context));
  await inWork((context) => kind.remove(node, context));
  const copied = await kind.read(to, { ...QUERY, format: NO_INPUT.format }, contextOf(store.begin()));
  expect(JSON.parse(String(copied.rows))).toHaveLength(10);
  expect(JSON.parse(String(copied.columns))[1].options.target_table_id).toBe(to.id);
});

test('cells of a copy refer to the copies of what is copied with it', async () => {
  const [file, fileCopy, other] = [newId(), newId(), newId()];
  const columns = [
    { id: 'r', name: 'R', type: 'resource' },
    { id: 'f', name: 'F', type: 'attachment', default: [file] },
    { id: 't', name: 'T', type: 'text' },
  ];
  const cells = { r: [node.id, other], f: [other, file], t: file };
  const rows = Array.from({ length: 600 }, (_, i) => ({ id: `r${i}`, cells: i === 1 ? {} : cells }));
  await put((context) => kind.create(node, { ...NO_INPUT, columns: json(columns), rows: json(rows) }, context));
  const to = { ...node, id: newId() };
  await put((context) => kind.copy(node, to, context, (id) => (id === file ? fileCopy : undefined)));
  const copied = await kind.read(to, { ...QUERY, format: NO_INPUT.format }, contextOf(store.begin()));
  const [first, second] = JSON.parse(String(copied.rows));
  expect(copied.rowCount).toBe(600);
  expect(first.cells).toEqual({ r: [to.id, other], f: [other, fileCopy], t: file });
  expect(second.cells).toEqual({ r: null, f: [fileCopy], t: null });
  expect(JSON.parse(String(copied.columns))[1].default).toEqual([fileCopy]);
  const everywhere = { op: 'contains', column: 'f', value: fileCopy };
  const found = await kind.read(
    to,
    { ...QUERY, format: NO_INPUT.format, filter: JSON.stringify(everywhere) },
    contextOf(store.begin()),
  );
  expect(found.page?.total).toBe(600);
  const before = await kind.read(node, { ...QUERY, format: NO_INPUT.format }, contextOf(store.begin()));
  expect(JSON.parse(String(before.rows))[0].cells).toEqual(cells);
});

test('a reader that was overtaken by a write reads the later state', async () => {
  await make();
  const head = await parts.heads.get(node.id);
  await upsert(many(0, 1).map((row) => ({ ...row, cells: { a: 77 } })));
  const get = parts.heads.get;
  let late = true;
  parts.heads.get = async (id) => {
    if (!late) return get(id);
    late = false;
    return head;
  };
  expect(await rowIds()).toHaveLength(1000);
  expect(late).toBe(false);
});

test('the difference between two states', async () => {
  await make();
  await inWork((context) => kind.keep(node, 's1', context));
  await upsert(
    [
      { id: 'row-5', cells: { a: 99 } },
      { id: 'new', cells: { a: 1 } },
    ],
    ['row-7'],
  );
  await write({ columns: json([{ id: 'b', name: 'B' }]), mode: ContentMode.APPEND });
  const diff = await kind.diff?.(node, { snapshotId: 's1' }, 'current', contextOf(store.begin()));
  expect(diff).toMatchObject({ added: 1, removed: 1, changed: 1, truncated: false });
  expect(JSON.parse(String(diff?.rows))).toEqual([
    { id: 'row-5', change: 'changed', before: { a: 5 }, after: { a: 99 } },
    { id: 'new', change: 'added', before: null, after: { a: 1, b: null } },
    { id: 'row-7', change: 'removed', before: { a: 7 }, after: null },
  ]);
  expect(JSON.parse(String(diff?.columns))).toMatchObject([{ id: 'b', change: 'added', before: null }]);
});

test('search reads the names of the columns and the texts of the cells', async () => {
  const columns = [
    { id: 'a', name: 'Customer' },
    { id: 's', name: 'Stage', type: 'select', options: { choices: ['Won'] } },
  ];
  await put((context) =>
    kind.create(node, { ...NO_INPUT, columns: json(columns), rows: json([['Acme', 'Won']]) }, context),
  );
  expect(await kind.text(node)).toBe('Customer · Stage\nAcme · Won');
});

test('refuses more rows than a table may have', async () => {
  await make();
  await expect(write({ rows: json(many(3000, 5001)), mode: ContentMode.APPEND })).rejects.toMatchObject({
    reason: 'limit_reached',
  });
});
