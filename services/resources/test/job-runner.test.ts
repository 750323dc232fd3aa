import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { newId } from '@commonplace/kit/id';
import { createLog } from '@commonplace/kit/log';
import type { Collection } from '@commonplace/kit/store';
import { holdJob } from '@commonplace/kit/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Node } from '../src/domain/node.js';
import { counterCollection, createCounters } from '../src/nodes/counters.js';
import { jobCollection, type TreeJob, treeJobQueue } from '../src/nodes/jobs.js';
import { createPendingJobs } from '../src/nodes/pending.js';
import { nodeCollection } from '../src/nodes/records.js';
import { tagUsageCollection } from '../src/nodes/tag-usage.js';
import { createTree } from '../src/nodes/tree.js';
import { purgeExpired } from '../src/tree/purge-expired.js';
import { rewriteSubtree } from '../src/tree/rewrite-subtree.js';
import { type JobParts, openJobRunner } from '../src/tree-jobs.js';

/** Background jobs on resources finish whatever is wrong with them, and none delays others. */

const ada = { type: 'user', id: 'ada', name: 'Ada' } as const;
const [HERE, THERE] = [newId(), newId()];
const TRIES = 3;

let database: TestDatabase;
let parts: JobParts;
let nodes: Collection<Node>;
let broken: Set<string>;
/** Called once before a page of nodes that is not the first is read. */
let beforeNextPage: (() => Promise<unknown>) | undefined;

beforeEach(async () => {
  database = await openTestDatabase();
  const store = database.store('resources');
  nodes = await store.collection(nodeCollection);
  const jobs = await store.collection(jobCollection);
  const pending = createPendingJobs(jobs);
  broken = new Set();
  beforeNextPage = undefined;
  const tree = createTree(nodes, pending);
  const find: typeof nodes.find = async (query) => {
    const { contains } = (query.where as { ancestors?: { contains?: string } }).ancestors ?? {};
    if (contains !== undefined && broken.has(contains)) throw new Error('this never goes well');
    if (query.after !== undefined) {
      const act = beforeNextPage;
      beforeNextPage = undefined;
      await act?.();
    }
    return nodes.find(query);
  };
  parts = {
    store,
    jobs,
    pending,
    tree: { ...tree, nodes: new Proxy(nodes, { get: (of, name) => (name === 'find' ? find : Reflect.get(of, name)) }) },
    counters: createCounters(await store.collection(counterCollection), await store.collection(tagUsageCollection)),
    settings: { treeJobTries: TRIES },
    runner: { prompt() {} },
  } as unknown as JobParts;
});
afterEach(async () => {
  await database.close();
});

const AT = '2026-01-01T00:00:00.000Z';

async function newJob(fields: Partial<TreeJob> = {}): Promise<TreeJob> {
  const work = parts.store.begin();
  const own = { kind: 'place', tenant: HERE, workspaceIds: [HERE], actor: ada, createdAt: AT, leaseUntil: AT } as const;
  const job = work.insert(parts.jobs, { id: newId(), headId: newId(), ...own, ...fields });
  await work.commit();
  return job;
}

async function newNode(fields: Partial<Node>): Promise<Node> {
  const work = parts.store.begin();
  const place = { orgId: null, workspaceId: HERE, tenant: HERE, boundary: HERE, ancestors: [], parentKey: HERE };
  const stamps = { createdBy: ada, createdById: 'ada', updatedBy: ada, createdAt: AT, updatedAt: AT };
  const node = work.insert(nodes, {
    ...{ id: newId(), type: 'folder', name: 'n', nameFold: 'n', position: 'a0', state: 'active', ...place, ...stamps },
    ...{ restricted: false, locked: false, tags: [], principals: [], contentVersion: 1, sizeBytes: 0 },
    ...fields,
  });
  await work.commit();
  return node;
}

/** Runs the job runner once, until no job is due. */
async function runDue(): Promise<void> {
  const runner = await openJobRunner({ ...parts, log: createLog('silent'), partsOf: () => parts });
  await runner.begin();
  await until(async () => (await openJobs()).length === 0);
  await runner.close();
}

/** Returns the jobs that are due or in work; a runner that closes hands the latter back. */
async function openJobs(): Promise<TreeJob[]> {
  const now = new Date().toISOString();
  const jobs = await parts.jobs.find({ where: {}, limit: 1000 });
  return jobs.filter(({ leaseUntil, lease }) => leaseUntil <= now || (lease?.holder ?? '') !== '');
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await isSo()); ) {
    if (Date.now() > end) throw new Error('it never came to that');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('failing jobs do not delay others', async () => {
  for (let i = 0; i < 60; i++) broken.add((await newJob()).headId);
  const good = await newJob({ createdAt: '2026-01-02T00:00:00.000Z', leaseUntil: '2026-01-02T00:00:00.000Z' });
  await runDue();
  expect(await parts.jobs.get(good.id)).toBeUndefined();
});

test('a job that always fails backs off and is given up, and reads still depend on it', async () => {
  const { id, headId } = await newJob();
  broken.add(headId);
  const pauses: number[] = [];
  for (let tries = 0; tries < TRIES; tries++) {
    const began = Date.now();
    await runDue();
    const { leaseUntil } = (await parts.jobs.get(id)) as TreeJob;
    pauses.push(Date.parse(leaseUntil) - began);
    await makeDue(id);
  }
  expect(await parts.jobs.get(id)).toMatchObject({ failures: TRIES, deadAt: expect.any(String) });
  expect(pauses[1] as number).toBeGreaterThan(pauses[0] as number);
  expect(pauses[TRIES - 1] as number).toBeGreaterThan(3_600_000);
  expect((await parts.pending.in(HERE)).map((job) => job.id)).toEqual([id]);
});

async function makeDue(id: string): Promise<void> {
  const work = parts.store.begin();
  const job = (await parts.jobs.get(id)) as TreeJob;
  work.replace(parts.jobs, job, { ...job, leaseUntil: AT });
  await work.commit();
}

test('a copy that always fails is ended with its plan', async () => {
  const copy = { sourceId: newId(), pieces: 1, done: 0 };
  const { id } = await newJob({ kind: 'copy', copy, failures: TRIES - 1 });
  const pieces = { get: async () => Promise.reject(new Error('this never goes well')), find: async () => [] };
  parts = { ...parts, copyPieces: pieces as never };
  await runDue();
  expect(await parts.jobs.get(id)).toBeUndefined();
});

test('a workspace shows that its template could not be copied, and the copy is tried again', async () => {
  const copy = { sourceId: newId(), pieces: 1, done: 0 };
  const { id, headId } = await newJob({ kind: 'apply', copy, failures: TRIES - 1 });
  const pieces = { get: async () => Promise.reject(new Error('this never goes well')), find: async () => [] };
  const told: unknown[] = [];
  const directory = { finishTemplate: async (request: unknown) => ({ found: told.push(request) > 0 }) };
  parts = { ...parts, copyPieces: pieces as never, peers: { directory } as never, systemCall: () => ({}) as never };
  await runDue();
  expect(told).toEqual([{ workspaceId: headId, failed: true }]);
  expect(await parts.jobs.get(id)).toMatchObject({ deadAt: expect.any(String) });
});

test('a move whose external id was taken in the meantime finishes', async () => {
  const taken = { externalId: 'taken', externalKey: `${THERE}:taken` };
  const holder = await newNode({ workspaceId: THERE, tenant: THERE, boundary: THERE, parentKey: THERE, ...taken });
  const head = await newNode({ workspaceId: THERE, tenant: THERE, boundary: THERE, parentKey: THERE });
  const below = { ancestors: [head.id], parentKey: head.id };
  const loser = await newNode({ ...below, externalId: 'taken', externalKey: `${HERE}:taken` });
  const other = await newNode({ ...below, externalId: 'free', externalKey: `${HERE}:free` });
  const job = await newJob({ headId: head.id, workspaceIds: [HERE, THERE] });
  await rewriteSubtree(parts, await holdJob(parts.store, treeJobQueue, job));
  expect(await parts.jobs.get(job.id)).toBeUndefined();
  expect(await nodes.get(holder.id)).toMatchObject(taken);
  const moved = await nodes.get(loser.id);
  expect(moved).toMatchObject({ workspaceId: THERE });
  expect([moved?.externalId, moved?.externalKey]).toEqual([undefined, undefined]);
  expect(await nodes.get(other.id)).toMatchObject({ workspaceId: THERE, externalKey: `${THERE}:free` });
});

describe('a sweep finds what is put below a late node before the sweep has written it, with an id that it has passed', () => {
  /** Number of nodes that fill the first page of a sweep. */
  const PAGE = 200;

  /** Runs a sweep of `head`; between two pages `early` is moved below `late`, which the change of `head` has missed. */
  async function sweep(head: Node, early: Node, late: Node, fields: Partial<TreeJob>): Promise<void> {
    beforeNextPage = async () => {
      const work = parts.store.begin();
      work.replace(nodes, early, { ...early, parentKey: late.id, ancestors: [...late.ancestors, late.id] });
      await work.commit();
    };
    const job = await newJob({ headId: head.id, sweep: true, ...fields });
    await rewriteSubtree(parts, await holdJob(parts.store, treeJobQueue, job));
    expect(beforeNextPage).toBeUndefined();
    expect(await parts.jobs.get(job.id)).toBeUndefined();
  }

  test('of a move', async () => {
    const above = await newNode({});
    const head = await newNode({ parentKey: above.id, ancestors: [above.id] });
    const early = await newNode({});
    const moved = { parentKey: head.id, ancestors: [above.id, head.id] };
    await Promise.all(Array.from({ length: PAGE }, () => newNode(moved)));
    const late = await newNode({ parentKey: head.id, ancestors: [head.id] });
    await sweep(head, early, late, { kind: 'place' });
    expect((await nodes.get(late.id))?.ancestors).toEqual([above.id, head.id]);
    expect((await nodes.get(early.id))?.ancestors).toEqual([above.id, head.id, late.id]);
  });

  test('of a deletion', async () => {
    const trash = { state: 'trashed', trashedAt: AT, purgeAt: AT, batchId: newId() } as const;
    const head = await newNode({ ...trash, trashHead: true });
    const early = await newNode({});
    const below = { parentKey: head.id, ancestors: [head.id] };
    await Promise.all(Array.from({ length: PAGE }, () => newNode({ ...below, ...trash })));
    const late = await newNode(below);
    await sweep(head, early, late, { kind: 'trash', batchId: trash.batchId });
    for (const { id } of [late, early]) {
      expect(await nodes.get(id)).toMatchObject({ state: 'trashed', batchId: trash.batchId });
    }
  });
});

test('purges all expired batches in one round, each by one job, even if one fails', async () => {
  const trash = { state: 'trashed', trashHead: true, purgeAt: AT, trashedAt: AT, batchId: newId() } as const;
  for (let i = 0; i < 250; i++) await newNode(trash);
  const queued: string[] = [];
  let most = 0;
  const finish = async (id: string) => {
    const job = (await parts.jobs.get(id)) as TreeJob;
    const work = parts.store.begin();
    if (queued.length === 7) work.replace(parts.jobs, job, { ...job, failures: 1 });
    else work.remove(parts.jobs, job);
    await work.commit();
    most = Math.max(most, (await parts.jobs.find({ where: { createdAt: { gt: '' } }, limit: 1000 })).length);
  };
  let last: Promise<void> = Promise.resolve();
  const unwatch = parts.store.onCommit(jobCollection.name, () => {
    last = last.then(async () => {
      const waiting = await parts.jobs.find({ where: { failures: { exists: false } }, limit: 1000 });
      for (const { id } of waiting.filter((job) => !queued.includes(job.id))) {
        queued.push(id);
        await finish(id);
      }
    });
  });
  const now = new Date().toISOString();
  expect(await purgeExpired(parts, now, new AbortController().signal)).toBe(250);
  await last;
  unwatch();
  expect(new Set(queued).size).toBe(250);
  expect(most).toBeLessThanOrEqual(102);
});
