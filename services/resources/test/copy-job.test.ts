import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteDatabase, type SqliteDatabase } from '@commonplace/adapters/sqlite';
import { newId } from '@commonplace/kit/id';
import type { HeldJob } from '@commonplace/kit/jobs';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import { holdJob } from '@commonplace/kit/testing';
import { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openKeeper } from '../src/content/kept.js';
import { isCopyAwaited } from '../src/copies/awaited.js';
import { copyResource } from '../src/copies/copy.js';
import { copyOn } from '../src/copies/job.js';
import type { CopyParts } from '../src/copies/parts.js';
import { type CopyPiece, copyPieceCollection } from '../src/copies/records.js';
import { openDeriver } from '../src/documents/kind/deriver.js';
import { createDocumentKind } from '../src/documents/kind/document.js';
import { contentCollection } from '../src/documents/kind/records.js';
import type { Node } from '../src/domain/node.js';
import { arrivalCollection } from '../src/nodes/arrivals.js';
import { counterCollection, createCounters } from '../src/nodes/counters.js';
import { jobCollection, type PlaceOfPurge, type TreeJob, treeJobQueue } from '../src/nodes/jobs.js';
import { createPendingJobs } from '../src/nodes/pending.js';
import { nodeCollection } from '../src/nodes/records.js';
import { tagUsageCollection } from '../src/nodes/tag-usage.js';
import { createTree } from '../src/nodes/tree.js';
import { emptyTrash } from '../src/tree/empty-trash.js';
import { rewriteSubtree } from '../src/tree/rewrite-subtree.js';
import { NOTHING_HIDDEN } from './nothing-hidden.js';

const ada = { type: 'user', id: 'ada', name: 'Ada' } as const;
const WORKSPACE = newId();
/** Documents in each of the folders. */
const WIDTH = 60;
const FOLDERS = 10;
const ALL = 1 + FOLDERS + FOLDERS * WIDTH;

/** The name of the node that the caller may no longer read. */
let hidden: string | undefined;
let folder: string;
let database: SqliteDatabase;
let parts: CopyParts;
let nodes: Collection<Node>;

beforeEach(async () => {
  hidden = undefined;
  folder = mkdtempSync(join(tmpdir(), 'commonplace-copy-'));
  await open();
});
afterEach(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

/** Opens the parts that a process has after a start on the stored data. */
async function open(): Promise<void> {
  database = await openSqliteDatabase({ file: join(folder, 'commonplace.db') });
  const store = database.store('resources');
  nodes = await store.collection(nodeCollection);
  const jobs = await store.collection(jobCollection);
  const pending = createPendingJobs(jobs);
  const tree = createTree(nodes, pending);
  const settings = { inlineCopy: 200, copyResources: 10_000, children: 100, documentBytes: 1000, inlinePurge: 10_000 };
  const contents = await store.collection(contentCollection);
  const access = { role: 'owner', source: 'workspace' } as const;
  const reserve = async () => {};
  parts = {
    store,
    tree,
    jobs,
    pending,
    settings,
    arrivals: await store.collection(arrivalCollection),
    copyPieces: await store.collection(copyPieceCollection),
    counters: createCounters(await store.collection(counterCollection), await store.collection(tagUsageCollection)),
    kinds: {
      document: createDocumentKind({
        contents,
        keeper: await openKeeper(store),
        settings: settings as never,
        hidden: NOTHING_HIDDEN,
        deriver: openDeriver({ documentThreads: 2, documentSeconds: 60, documentsWaiting: 100 }),
      }),
    },
    policy: {
      accessTo: async () => access,
      see: async (id: string) => ({ node: await tree.get(id), access, membership: undefined }),
      areReadableBy: async (found: readonly Node[]) => found.map(({ name }) => name !== hidden),
      accessToAll: async (found: readonly Node[]) => found.map(() => access),
      opensAll() {},
    },
    quotas: { resources: { reserve }, roots: { reserve }, children: { reserve } },
    runner: { start() {} },
    isCopyAwaited: (place: PlaceOfPurge, meets: (node: Node) => boolean) =>
      isCopyAwaited({ ...parts, nodes }, place, meets),
    systemCall: () => ({ metadata: { requestId: 'r' }, deadline: Date.now() + 10_000 }),
  } as unknown as CopyParts;
}

async function crash(): Promise<void> {
  await database.close();
  await open();
}

function put(work: ReturnType<Store['begin']>, fields: Partial<Node>, text?: string): Node {
  const fixed = { orgId: null, workspaceId: WORKSPACE, tenant: WORKSPACE, boundary: WORKSPACE, ancestors: [] };
  const stamps = { createdBy: ada, createdById: 'ada', updatedBy: ada, createdAt: 'now', updatedAt: 'now' };
  const own = { name: 'n', nameFold: 'n', position: 'a0', restricted: false, locked: false, state: 'active' } as const;
  const node = work.insert(nodes, {
    ...fixed,
    ...stamps,
    ...own,
    id: newId(),
    parentKey: WORKSPACE,
    type: 'folder',
    tags: [],
    principals: [],
    contentVersion: 1,
    sizeBytes: text?.length ?? 0,
    ...fields,
  });
  const contents = { spec: contentCollection } as never;
  if (text !== undefined) work.insert(contents, { id: node.id, tenant: WORKSPACE, format: 'markdown', text } as never);
  return node;
}

/** Creates a folder of folders of documents, the first of which refers to the last. */
async function grow(): Promise<{ head: Node; target: Node }> {
  const work = parts.store.begin();
  const head = put(work, { name: 'head' });
  const target = put(work, { name: 'target' });
  const last = newId();
  for (let f = 0; f < FOLDERS; f++) {
    const above = put(work, { name: `f${f}`, parentKey: head.id, ancestors: [head.id] });
    const inside = { parentKey: above.id, ancestors: [head.id, above.id], type: 'document' } as const;
    for (let d = 0; d < WIDTH; d++) {
      const isLast = f === FOLDERS - 1 && d === WIDTH - 1;
      const name = `f${f}d${d}`;
      put(work, { ...inside, name, ...(isLast && { id: last }) }, `${name} [last](resource:${last})\n`);
    }
  }
  await work.commit();
  return { head, target };
}

/** Copies the head, and returns the job for the rest. */
async function begin(source: Node, target: Node): Promise<TreeJob> {
  const work = parts.store.begin();
  const context = {
    work,
    callId: newId(),
    ...{ actor: ada, caller: { userId: 'ada' } },
    event: () => ({ id: `evt_${newId()}`, specversion: '1.0', type: 'x', source: 's', subject: 's', data: {} }),
    afterCommit() {},
    acts() {},
  } as unknown as CallContext;
  const request = CopyResourceRequest.fromPartial({ resourceId: source.id, parentId: target.id });
  const copied = await copyResource(parts, request, { caller: { userId: 'ada' } } as never, context);
  await work.commit();
  expect([copied.running, copied.count]).toEqual([true, ALL]);
  return theJob();
}

/** Claims the job like a worker that stops after `turns` pieces. */
function hold(job: TreeJob, turns: number, store: Store = parts.store): Promise<HeldJob<TreeJob>> {
  return holdJob(store, treeJobQueue, job, after(turns));
}

async function theJob(): Promise<TreeJob> {
  return (await parts.jobs.find({ where: {}, limit: 1 }))[0] as TreeJob;
}

/** Returns a function that requests a stop after `turns` calls. */
function after(turns: number): () => boolean {
  let left = turns;
  return () => left-- <= 0;
}

const made = (target: Node) => nodes.find({ where: { ancestors: { contains: target.id } }, limit: 10_000 });

async function expectWhole(target: Node): Promise<void> {
  const copies = await made(target);
  expect(copies).toHaveLength(ALL);
  expect(new Set(copies.map(({ name }) => name)).size).toBe(ALL);
  const byId = new Map([target, ...copies].map((node) => [node.id, node]));
  for (const copy of copies) {
    const parent = byId.get(copy.parentKey) as Node;
    expect(copy.ancestors).toEqual([...parent.ancestors, parent.id]);
  }
  const last = copies.find(({ name }) => name === `f${FOLDERS - 1}d${WIDTH - 1}`) as Node;
  const documents = copies.filter(({ type }) => type === 'document');
  const texts = await parts.kinds.document.texts?.(documents);
  for (const { id, name } of documents) expect(texts?.get(id)).toBe(`${name} [last](resource:${last.id})\n`);
  expect(await parts.counters.ofWorkspace(WORKSPACE)).toBe(ALL);
  expect(await parts.jobs.count({})).toBe(0);
  expect(await parts.copyPieces.count({})).toBe(0);
}

test('continues where it stopped after its process ended', async () => {
  const { head, target } = await grow();
  await copyOn(parts, await hold(await begin(head, target), 2));
  expect(await made(target)).toHaveLength(1 + 400);
  await crash();
  await copyOn(parts, await hold(await theJob(), 1));
  expect(await made(target)).toHaveLength(1 + 600);
  await crash();
  await copyOn(parts, await hold(await theJob(), 100));
  await expectWhole(target);
});

test('creates each copy once, even with several workers', async () => {
  const { head, target } = await grow();
  await begin(head, target);
  const holds: HeldJob<TreeJob>[] = [];
  for (let at = 0; at < 3; at++) holds.push(await hold(await theJob(), 100));
  const outcomes = await Promise.allSettled(holds.map((one) => copyOn(parts, one)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  await expectWhole(target);
});

test('repeats a piece of which nothing was stored', async () => {
  const { head, target } = await grow();
  const job = await begin(head, target);
  const { store } = parts;
  let units = 0;
  const failing = {
    ...store,
    begin() {
      const work = store.begin();
      const fails = ++units === 3;
      // A full disk fails the whole unit of work.
      return fails
        ? Object.assign(Object.create(work), { commit: () => Promise.reject(new Error('disk full')) })
        : work;
    },
  } as Store;
  const held = await hold(job, 100, failing);
  await expect(copyOn({ ...parts, store: failing }, held)).rejects.toThrow('disk full');
  expect(await made(target)).toHaveLength(1 + 200);
  await copyOn(parts, await hold(await theJob(), 100));
  await expectWhole(target);
});

/** The fields of a node that was trashed together with others. */
const inBatch = (batchId: string, trashHead: boolean) => {
  const trash = { by: ada, descendants: 0 };
  const at = { trashedAt: '2026-01-01T00:00:00.000Z', purgeAt: '2026-02-01T00:00:00.000Z' };
  return { state: 'trashed', batchId, trashHead, trash, ...at } as const;
};

test('copies what existed when it began, also from the trash, unless it was purged', async () => {
  const { head, target } = await grow();
  const job = await begin(head, target);
  const work = parts.store.begin();
  put(work, { name: 'late', parentKey: head.id, ancestors: [head.id] });
  const below = await nodes.find({ where: { ancestors: { contains: head.id } }, limit: 1000 });
  for (const node of [head, ...below]) {
    if (node.name === 'f0d0') work.remove(nodes, node);
    else work.replace(nodes, node, { ...node, ...inBatch('b', node === head) });
  }
  await work.commit();
  await copyOn(parts, await hold(job, 100));
  const copies = await made(target);
  const names = copies.map(({ name }) => name);
  expect(names).toHaveLength(ALL - 1);
  expect(names).not.toContain('late');
  expect(names).not.toContain('f0d0');
  expect(copies.every(({ state, batchId }) => state === 'active' && batchId === undefined)).toBe(true);
  expect(await parts.counters.ofWorkspace(WORKSPACE)).toBe(ALL - 1);
});

test('copies what is to be purged before that is purged', async () => {
  const { head, target } = await grow();
  const job = await begin(head, target);
  const below = await nodes.find({ where: { ancestors: { contains: head.id } }, limit: 1000 });
  const work = parts.store.begin();
  for (const node of [head, ...below]) {
    const { trash, ...rest } = inBatch('b', node === head);
    work.replace(nodes, node, { ...node, ...rest, trash: { ...trash, descendants: node === head ? below.length : 0 } });
  }
  await work.commit();
  const purge = parts.store.begin();
  const call = { work: purge, actor: ada, afterCommit() {} } as unknown as CallContext;
  const emptied = await emptyTrash(parts, WORKSPACE, [(await nodes.get(head.id)) as Node], undefined, call);
  expect(emptied).toMatchObject({ purged: 0, running: true });
  await purge.commit();
  parts.pending.forget();
  const purgeJob = (await parts.jobs.find({ where: { kind: 'purge', createdAt: { gt: '' } }, limit: 1 }))[0] as TreeJob;
  await rewriteSubtree(parts, await hold(purgeJob, 100));
  expect(await nodes.get(head.id)).toBeDefined();
  const isAwaited = (place: PlaceOfPurge) => parts.isCopyAwaited(place, () => true);
  expect(await isAwaited(purgeJob)).toBe(true);
  // Another tenant does not wait for the copy, nor read what it is of.
  expect(await isAwaited({ tenant: 'other', workspaceIds: ['other'] })).toBe(false);
  await copyOn(parts, await hold(job, 100));
  expect(await made(target)).toHaveLength(ALL);
  expect(await isAwaited(purgeJob)).toBe(false);
});

test('leaves out what its caller may no longer read', async () => {
  const { head, target } = await grow();
  const job = await begin(head, target);
  hidden = 'f3';
  await copyOn(parts, await hold(job, 100));
  const names = (await made(target)).map(({ name }) => name);
  expect(names).toHaveLength(ALL - 1 - WIDTH);
  expect(names.filter((name) => name.startsWith('f3'))).toEqual([]);
});

test('joins a trashed copy in the trash, follows a moved one, and creates nothing below a purged one', async () => {
  const { head, target } = await grow();
  const job = await begin(head, target);
  await copyOn(parts, await hold(job, 1));
  const copies = await made(target);
  const named = (name: string) => copies.find((copy) => copy.name === name) as Node;
  const counted = await parts.counters.ofWorkspace(WORKSPACE);
  const work = parts.store.begin();
  const elsewhere = put(work, { name: 'elsewhere' });
  work.replace(nodes, named('f5'), { ...named('f5'), ...inBatch('b5', true) });
  work.replace(nodes, named('f6'), { ...named('f6'), parentKey: elsewhere.id, ancestors: [elsewhere.id] });
  work.remove(nodes, named('f7'));
  await work.commit();
  await copyOn(parts, await hold(await theJob(), 100));
  const below = (name: string) => nodes.find({ where: { ancestors: { contains: named(name).id } }, limit: 100 });
  const f5 = await below('f5');
  expect(f5).toHaveLength(WIDTH);
  const { trash: _, ...batch } = inBatch('b5', false);
  for (const one of f5) expect(one).toMatchObject({ ...batch, trash: { by: ada, descendants: 0 } });
  expect((await nodes.get(named('f5').id))?.trash).toEqual({ by: ada, descendants: WIDTH });
  expect(await below('f6')).toHaveLength(WIDTH);
  expect(await below('f7')).toHaveLength(0);
  const inside = await nodes.find({ where: { ancestors: { contains: elsewhere.id } }, limit: 100 });
  expect(inside).toHaveLength(1 + WIDTH);
  const others = (FOLDERS - 2) * WIDTH - (counted - 1 - FOLDERS);
  expect(await parts.counters.ofWorkspace(WORKSPACE)).toBe(counted + others);
});

test('every query has an index', async () => {
  const pieces = (await parts.store.collection(copyPieceCollection)) as Collection<CopyPiece>;
  const plans = await Promise.all([
    pieces.explain({ where: { jobId: 'j' }, sort: ['number'], limit: 100 }),
    pieces.explain({ where: { jobId: 'j' }, sort: ['number'], limit: 100, after: [1, 'j:1'] }),
    nodes.explain({ where: { ancestors: { contains: 'n' } }, limit: 1000, after: ['n'] }),
    nodes.explain({ where: { parentKey: 'n', state: 'active', type: 'file' }, sort: ['position'], limit: 9 }),
  ]);
  expect(plans.filter(({ indexed }) => !indexed)).toEqual([]);
});
