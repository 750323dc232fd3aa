import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Store, UnitOfWork } from '@commonplace/kit/store';
import { CellFormat, ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { NO_INPUT } from '../../src/content/input.js';
import type { ContentInput } from '../../src/content/kind.js';
import type { Node } from '../../src/domain/node.js';
import type { TableParts } from '../../src/tables/engine.js';
import { createChunkImage, renderedText } from '../../src/tables/image.js';
import { createTableKind, type TableKind } from '../../src/tables/kind.js';
import { openTablePlanner } from '../../src/tables/planner.js';
import { chunkCollection, headCollection } from '../../src/tables/records.js';
import { encodeRow, type Row } from '../../src/tables/rows.js';
import { json } from './table-world.js';

const nodeOf = (id: string) => ({ id, tenant: 't', type: 'table' }) as unknown as Node;
const TABLE = nodeOf('0198aaaa-0000-7000-8000-000000000001');
const OTHER = nodeOf('0198aaaa-0000-7000-8000-000000000002');
const COLUMNS = json([{ id: 'a', name: 'A', type: 'number' }]);

let database: TestDatabase;
let store: Store;
let parts: TableParts;
let kind: TableKind;
const planner = openTablePlanner({ tableThreads: 1, tableSeconds: 60, tablesWaiting: 100 });
afterAll(() => planner.close());
/** Characters of records that were read and written. */
let moved = 0;
beforeEach(async () => {
  database = await openTestDatabase();
  store = database.store('resources');
  parts = {
    heads: counted(await store.collection(headCollection)),
    chunks: counted(await store.collection(chunkCollection)),
    settings: { tableRows: 200_000, tableChoices: 5000, tableCacheBytes: 64 * 2 ** 20 },
    planner,
    readableAmong: async (ids: readonly string[]) => new Set(ids),
    columnWarnings: async () => [],
  };
  kind = createTableKind(parts);
});
afterEach(async () => {
  await database.close();
});

function counted<T extends TableParts['heads'] | TableParts['chunks']>(collection: T): T {
  const { get, getMany } = collection;
  collection.get = async (id: string) => count(await get(id)) as never;
  collection.getMany = async (ids: readonly string[]) => count(await getMany(ids)) as never;
  return collection;
}

function count<R>(record: R): R {
  moved += JSON.stringify(record ?? '').length;
  return record;
}

function countedWork(): UnitOfWork {
  const work = store.begin();
  const [insert, replace] = [work.insert.bind(work), work.replace.bind(work)] as const;
  work.insert = (into, record) => insert(into, count(record));
  work.replace = (into, before, after) => replace(into, before, count(after));
  return work;
}

const contextOf = (work: UnitOfWork) =>
  ({
    work,
    actor: { type: 'user', id: 'u', name: 'U' },
    signal: new AbortController().signal,
    deadline: Date.now() + 60_000,
  }) as unknown as CallContext;

async function inWork<T>(act: (context: CallContext) => Promise<T>): Promise<T> {
  const work = countedWork();
  const result = await act(contextOf(work));
  await work.commit();
  return result;
}

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ id: `row-${from + i}`, cells: { a: from + i } }));

const create = (node: Node, rows: unknown[]) =>
  inWork(async (context) => {
    const prepared = await kind.create(node, { ...NO_INPUT, columns: COLUMNS, rows: json(rows) }, context);
    await prepared.apply();
  });
const write = (node: Node, input: Partial<ContentInput>) =>
  inWork(async (context) => {
    const prepared = await kind.write(node, { ...NO_INPUT, ...input }, context);
    if (prepared.changed) await prepared.apply();
    return prepared.changed;
  });
async function append(node: Node, from: number, to: number): Promise<void> {
  const prepared = await inWork(async (context) => {
    const made = await kind.append(node, numbered(from, to), context);
    await made.apply();
    return made;
  });
  prepared.committed();
}
async function fill(node: Node, rows: number): Promise<void> {
  await create(node, numbered(0, 100));
  for (let at = 100; at < rows; at += 10_000) await append(node, at, Math.min(at + 10_000, rows));
}
const keep = (node: Node, snapshotId: string) => inWork((context) => kind.keep(node, snapshotId, context));
async function ids(node: Node, snapshotId?: string, rows = 100_000): Promise<string[]> {
  const query = {
    page: { limit: rows, offset: 0, cursor: '' },
    format: NO_INPUT.format,
    filter: '',
    sort: '',
    columns: [],
    cellFormat: CellFormat.RAW,
  };
  const context = contextOf(store.begin());
  const read =
    snapshotId === undefined ? kind.read(node, query, context) : kind.readKept(node, snapshotId, query, context);
  return (JSON.parse(String((await read).rows)) as { id: string }[]).map(({ id }) => id);
}
const idsTo = (count: number) => numbered(0, count).map(({ id }) => id);
const chunkRecords = () => parts.chunks.count({ tenant: 't' });

test('rows that are appended in small pieces give the same table as at once', async () => {
  await create(TABLE, numbered(0, 5));
  let rows = 5;
  for (let i = 0; rows < 1500; i++) {
    const more = 1 + ((i * 7) % 13);
    await append(TABLE, rows, rows + more);
    rows += more;
  }
  await create(OTHER, numbered(0, rows));
  expect(await ids(TABLE)).toEqual(idsTo(rows));
  // Equal contents have equal hashes, whatever parts they came in.
  expect((await keep(TABLE, 's')).hash).toBe((await keep(OTHER, 's')).hash);
});

test('writes without changes store nothing, and changed parts leave no chunks behind', async () => {
  await create(TABLE, numbered(0, 20));
  for (let at = 20; at < 28; at += 2) await append(TABLE, at, at + 2);
  expect((await parts.heads.get(TABLE.id))?.open).toBe(5);
  const upsert = (rows: unknown[]) => write(TABLE, { rows: json(rows), mode: ContentMode.UPSERT });
  expect(await upsert(numbered(22, 25))).toBe(false);
  expect(await write(TABLE, { columns: COLUMNS, rows: json(numbered(0, 28)) })).toBe(false);
  expect(await upsert([{ id: 'row-23', cells: { a: -1 } }])).toBe(true);
  expect(await ids(TABLE)).toEqual(idsTo(28));
  expect(await chunkRecords()).toBe(1);
  await append(TABLE, 28, 30);
  expect(await write(TABLE, { deleteRowIds: idsTo(29), mode: ContentMode.UPSERT })).toBe(true);
  expect(await ids(TABLE)).toEqual(['row-29']);
  expect(await chunkRecords()).toBe(1);
});

test('finds, keeps, restores and deletes all chunks of a large table', async () => {
  await fill(TABLE, 20_000);
  expect((await parts.heads.get(TABLE.id))?.list).toBeDefined();
  await append(TABLE, 20_000, 20_003);
  await keep(TABLE, 's1');
  await write(TABLE, { rows: json([{ id: 'row-7', cells: { a: -1 } }]), mode: ContentMode.UPSERT });
  for (let at = 20_003; at < 22_003; at += 40) await append(TABLE, at, at + 40);
  expect(await ids(TABLE)).toEqual(idsTo(22_003));
  expect(await ids(TABLE, 's1')).toEqual(idsTo(20_003));
  await inWork(async (context) => (await kind.restore(TABLE, 's1', context)).apply());
  expect(await ids(TABLE)).toEqual(idsTo(20_003));
  const first = await keep(TABLE, 's2');
  await inWork((context) => kind.forget(TABLE, 's1', context));
  expect((await keep(TABLE, 's3')).hash).toBe(first.hash);
  await inWork((context) => kind.remove(TABLE, context));
  expect(await ids(TABLE, 's3')).toEqual(idsTo(20_003));
  for (const id of ['s2', 's3']) await inWork((context) => kind.forget(TABLE, id, context));
  expect(await chunkRecords()).toBe(0);
});

test('a copy that another process makes equals the table', async () => {
  await fill(TABLE, 12_000);
  await append(TABLE, 12_000, 12_003);
  kind = createTableKind(parts);
  await inWork(async (context) => (await kind.copy(TABLE, OTHER, context)).apply());
  await append(OTHER, 12_003, 12_004);
  expect(await ids(OTHER)).toEqual(idsTo(12_004));
});

test('the cost of appending a few rows does not grow with the table', async () => {
  const costs: number[] = [];
  for (const [node, size] of [
    [TABLE, 1000],
    [OTHER, 60_000],
  ] as const) {
    await fill(node, size);
    await kind.text(node);
    await append(node, size, size + 2);
    const before = moved;
    for (let at = size + 2; at < size + 2002; at += 2) await append(node, at, at + 2);
    costs.push((moved - before) / 1000);
  }
  const [small = 0, large = 0] = costs;
  expect(large).toBeLessThan(small * 1.5);
});

test('renders a chunk for search again only if its rows or their rendering changed', async () => {
  const row = (id: string): Row => ({ id, createdAt: 1, createdBy: 0, updatedAt: 1, updatedBy: 0, cells: [1] });
  const chunk = createChunkImage(1, encodeRow(row('r')));
  const weight = chunk.weight;
  let renders = 0;
  const render = async (rows: readonly Row[]) => {
    renders++;
    return rows.map(({ id }) => id).join();
  };
  expect(await renderedText(chunk, 'one', render)).toBe('r');
  expect(await renderedText(chunk, 'one', render)).toBe('r');
  expect(renders).toBe(1);
  expect(chunk.weight).toBe(weight + 2);
  await renderedText(chunk, 'other', render);
  expect(renders).toBe(2);
});

test('a column may have the id of a property that every object inherits', async () => {
  const columns = json([{ id: 'constructor', name: 'C', type: 'text' }]);
  await inWork(async (context) => {
    await (await kind.create(TABLE, { ...NO_INPUT, columns }, context)).apply();
  });
  await inWork(async (context) => {
    await (await kind.append(TABLE, [{ id: 'empty', cells: {} }], context)).apply();
  });
  expect(await ids(TABLE)).toEqual(['empty']);
});
