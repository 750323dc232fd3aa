import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection, Store, UnitOfWork } from '@commonplace/kit/store';
import { ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MAX_AUTOMATIC_SNAPSHOTS } from '../src/config.js';
import { NO_INPUT } from '../src/content/input.js';
import { openKeeper } from '../src/content/kept.js';
import type { PreparedWrite } from '../src/content/kind.js';
import { openDeriver } from '../src/documents/kind/deriver.js';
import { createDocumentKind } from '../src/documents/kind/document.js';
import { contentCollection } from '../src/documents/kind/records.js';
import type { Node } from '../src/domain/node.js';
import { nodeCollection } from '../src/nodes/records.js';
import { accessRequestCollection } from '../src/sharing/request-records.js';
import { forgetAllOf, keepReplaced } from '../src/snapshots/commands.js';
import { expireSnapshots } from '../src/snapshots/expire.js';
import { NEWEST_FIRST, type SnapshotRecord, snapshotCollection } from '../src/snapshots/records.js';
import type { TreeParts } from '../src/tree/parts.js';
import { purgeAll } from '../src/tree/trash.js';
import { NOTHING_HIDDEN } from './nothing-hidden.js';

const DAY = 86_400_000;
const ada = { type: 'user', id: 'ada', name: 'Ada' } as const;

let database: TestDatabase;
let store: Store;
let parts: TreeParts;
let snapshots: Collection<SnapshotRecord>;
beforeEach(async () => {
  database = await openTestDatabase();
  store = database.store('resources');
  snapshots = await store.collection(snapshotCollection);
  const settings = { documentBytes: 1000, documentJsonBytes: 1000, snapshotDays: 30 };
  const contents = await store.collection(contentCollection);
  const document = createDocumentKind({
    contents,
    keeper: await openKeeper(store),
    settings,
    hidden: NOTHING_HIDDEN,
    deriver: openDeriver({ documentThreads: 2, documentSeconds: 60, documentsWaiting: 100 }),
  });
  const accessRequests = await store.collection(accessRequestCollection);
  parts = {
    store,
    snapshots,
    settings,
    accessRequests,
    forgetters: [],
    kinds: { document },
  } as unknown as TreeParts;
});
afterEach(async () => {
  await database.close();
});

const node = {
  id: 'n',
  tenant: 't',
  type: 'document',
  createdAt: '',
  createdBy: ada,
  contentVersion: 1,
  sizeBytes: 5,
  principals: [],
} as unknown as Node;
const contextOf = (work: UnitOfWork) =>
  ({
    work,
    actor: ada,
    caller: { userId: 'ada', credential: { type: 'session', id: 's', scopes: [] } },
    event: () => ({}),
  }) as unknown as CallContext;

async function inWork<T>(act: (work: UnitOfWork) => Promise<T>): Promise<T> {
  const begun = store.begin();
  const work = Object.assign(Object.create(begun), { publish: () => {} });
  const result = await act(work);
  await begun.commit();
  return result;
}

const prepared: PreparedWrite = { changed: true, loses: false, sizeBytes: 1, warnings: [], apply() {} };

function keep(version: number): Promise<string | undefined> {
  const at = { ...node, contentVersion: version };
  const options = { reason: 'replace', preconditioned: false } as const;
  return inWork((work) => keepReplaced(parts, at, prepared, options, contextOf(work)));
}

/** Makes all snapshots older by some days. */
async function age(days: number): Promise<void> {
  const all = await snapshots.find({ where: {}, limit: 1000 });
  const earlier = (time: string) => new Date(Date.parse(time) - days * DAY).toISOString();
  await inWork(async (work) => {
    for (const one of all) {
      const expiresAt = one.expiresAt === undefined ? undefined : earlier(one.expiresAt);
      work.replace(snapshots, one, { ...one, createdAt: earlier(one.createdAt), expiresAt });
    }
  });
}

const versions = async () =>
  (await snapshots.find({ where: { resourceId: 'n' }, sort: NEWEST_FIRST, limit: 1000 })).map(
    (one) => one.contentVersion,
  );

test('deletes the oldest automatic snapshots above the limit, but none of the last day', async () => {
  const count = MAX_AUTOMATIC_SNAPSHOTS + 5;
  for (let version = 1; version <= count; version++) await keep(version);
  expect(await versions()).toHaveLength(count);
  await age(2);
  await keep(count + 1);
  expect(await versions()).toHaveLength(MAX_AUTOMATIC_SNAPSHOTS);
  expect((await versions()).at(-1)).toBe(count + 2 - MAX_AUTOMATIC_SNAPSHOTS);
});

test('deletes expired automatic snapshots with their content, and keeps others', async () => {
  const first = (await keep(1)) as string;
  await age(20);
  const second = (await keep(2)) as string;
  await age(20);
  expect(await expireSnapshots(parts, new Date().toISOString())).toBe(1);
  expect(await versions()).toEqual([2]);
  const query = { format: ContentFormat.MARKDOWN } as never;
  const read = (id: string) => inWork(async (work) => parts.kinds.document?.readKept(node, id, query, contextOf(work)));
  await expect(read(first)).rejects.toThrow('no content is stored');
  expect((await read(second))?.content?.toString()).toBe('""');
});

test('a purge deletes the content, its snapshots and their contents', async () => {
  const contents = await store.collection(contentCollection);
  const nodes = await store.collection(nodeCollection);
  const input = { ...NO_INPUT, content: Buffer.from('"words"') };
  await inWork(async (work) => {
    work.insert(nodes, node);
    await (await parts.kinds.document.create(node, input, contextOf(work))).apply();
  });
  await keep(1);
  const stored = (await nodes.get('n')) as Node;
  const freed = await inWork((work) => purgeAll({ ...parts, tree: { nodes } } as never, work, [stored]));
  expect(freed).toBe(node.sizeBytes + 5);
  const kept = ['kept_contents', 'kept_bodies'].map((name) => store.collection({ name, indexes: [] }));
  for (const one of [contents, nodes, snapshots, ...(await Promise.all(kept))]) expect(await one.count({})).toBe(0);
});

test('deletes all snapshots with their resource', async () => {
  for (let version = 1; version <= 450; version++) await insert(version);
  await inWork((work) => forgetAllOf(parts, ['other', 'n'], work));
  expect(await snapshots.count({})).toBe(0);
});

function insert(contentVersion: number): Promise<void> {
  const at = { createdBy: ada, createdAt: new Date().toISOString(), written: { by: ada, at: '' } };
  const fixed = { tenant: 't', resourceId: 'n', type: 'document', reason: 'manual', automatic: false } as const;
  return inWork(async (work) => {
    work.insert(snapshots, { id: newId(), ...fixed, ...at, contentVersion, sizeBytes: 1, hash: '' });
  });
}

test('every query has an index', async () => {
  const resourceId = 'n';
  const plans = await Promise.all([
    snapshots.explain({ where: { resourceId }, sort: NEWEST_FIRST, limit: 1 }),
    snapshots.explain({ where: { resourceId, automatic: true }, sort: NEWEST_FIRST, limit: 1 }),
    snapshots.explain({ where: { resourceId, reason: 'auto' }, sort: NEWEST_FIRST, limit: 51 }),
    snapshots.explain({ where: { resourceId, contentVersion: 1 }, limit: 1 }),
    snapshots.explain({
      where: { resourceId, automatic: true, createdAt: { lt: 'x' } },
      sort: ['createdAt', 'contentVersion'],
      limit: 9,
    }),
    snapshots.explain({ where: { expiresAt: { lte: 'x' } }, sort: ['expiresAt'], limit: 100 }),
    snapshots.explain({ where: { tenant: 't' }, limit: 1 }),
  ]);
  expect(plans.filter(({ indexed }) => !indexed)).toEqual([]);
});
