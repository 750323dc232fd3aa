import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { Collection, Query, UnitOfWork } from '@commonplace/kit/store';
import { AccessMode, ResourceState } from '@commonplace/proto/resources/v1/resource.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Node } from '../src/domain/node.js';
import { jobCollection, type TreeJob } from '../src/nodes/jobs.js';
import { createPendingJobs, KEPT_MS, PENDING_MAX_AGE_MS } from '../src/nodes/pending.js';
import { nodeCollection } from '../src/nodes/records.js';
import { createTree } from '../src/nodes/tree.js';
import { allOf } from '../src/templates/sources.js';
import { openWorld, type World } from './stage.js';

/** More jobs than one query reads. */
const MANY = 700;
const CHILDREN = 12;

function jobOf(workspaceId: string, fields: Partial<TreeJob> = {}): Omit<TreeJob, 'version'> {
  const actor = { type: 'system', id: 'test', name: 'Test' } as const;
  const [createdAt, leaseUntil] = ['2020-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z'];
  return {
    id: newId(),
    tenant: 't',
    workspaceIds: [workspaceId],
    headId: newId(),
    kind: 'place',
    actor,
    createdAt,
    leaseUntil,
    ...fields,
  };
}

describe('with hundreds of other jobs pending', () => {
  let world: World;
  let owner: Caller;
  let editor: Caller;

  beforeAll(async () => {
    process.env.COMMONPLACE_INLINE_SUBTREE = '5';
    world = await openWorld();
    owner = world.member(WorkspaceRole.OWNER);
    editor = world.member(WorkspaceRole.EDITOR);
  });
  afterAll(async () => {
    delete process.env.COMMONPLACE_INLINE_SUBTREE;
    await world.stage.close();
  });

  test('a restriction of a large subtree applies to all of it once it is answered', async () => {
    const top = await world.create(owner, { name: 'Top' });
    const children: string[] = [];
    for (let i = 0; i < CHILDREN; i++) children.push((await world.create(owner, { parentId: top.id })).id);
    const { store } = world.stage.own;
    const jobs = await store.collection(jobCollection);
    const work = store.begin();
    for (let i = 0; i < MANY; i++) work.insert(jobs, jobOf(world.workspaceId));
    await work.commit();

    await world.update(owner, top.id, { accessMode: AccessMode.RESTRICTED, updateMask: ['access_mode'] });
    const seen = await Promise.allSettled(children.map((id) => world.get(editor, id)));
    expect(seen.map(({ status }) => status)).toEqual(children.map(() => 'rejected'));
    expect((await world.list(editor, { parentId: top.id }).catch(() => ({ ids: [] }))).ids).toEqual([]);
    expect((await world.get(owner, children[0] as string)).id).toBe(children[0]);
  });
});

describe('the view of pending jobs', () => {
  let stored: TreeJob[] = [];
  let now = 0;
  let queries: Query<TreeJob>[] = [];
  let during = async () => {};

  /** A collection that implements the queries used here: by keyset, in order. */
  const jobs = {
    async find(query: Query<TreeJob>) {
      queries.push(query);
      const from = query.after === undefined ? 0 : stored.findIndex(({ id }) => id === query.after?.at(-1)) + 1;
      const page = stored.slice(from, from + query.limit);
      await during();
      return page;
    },
  } as unknown as Collection<TreeJob>;

  const asJob = (workspaceId: string): TreeJob => ({ ...jobOf(workspaceId), version: 1 });
  const open = () => {
    queries = [];
    during = async () => {};
    return createPendingJobs(jobs, () => now);
  };

  test('has all jobs by workspace, and is read once in half a second', async () => {
    stored = Array.from({ length: MANY }, (_, i) => asJob(i % 2 === 0 ? 'even' : 'odd'));
    const pending = open();
    const [even, odd, none] = await Promise.all(['even', 'odd', 'none'].map((id) => pending.in(id)));
    expect([even?.length, odd?.length, none?.length]).toEqual([MANY / 2, MANY / 2, 0]);
    const before = queries.length;
    now += PENDING_MAX_AGE_MS;
    await pending.in('even');
    expect(queries).toHaveLength(before);
    now += 1;
    await pending.in('even');
    expect(queries.length).toBeGreaterThan(before);
  });

  test('is read again for a caller that a slow read began too early for', async () => {
    stored = [];
    const pending = open();
    let answer = () => {};
    during = () => new Promise((resolve) => (answer = resolve));
    const early = pending.in('w');
    now += PENDING_MAX_AGE_MS + 1;
    // Stored after the slow query had read, but long enough ago that this caller must see it.
    stored = [asJob('w')];
    const late = pending.in('w');
    during = async () => {};
    answer();
    expect(await early).toHaveLength(0);
    expect(await late).toHaveLength(1);
  });

  test('ignores a read that began before this process changed the jobs', async () => {
    stored = [];
    const pending = open();
    let answer = () => {};
    during = () => new Promise((resolve) => (answer = resolve));
    const result = pending.in('w');
    stored = [asJob('w')];
    pending.forget();
    during = async () => {};
    answer();
    expect(await result).toHaveLength(1);
  });

  test('has a job for some seconds after its end, but not among those that have not ended', async () => {
    stored = [asJob('w')];
    const pending = open();
    expect(await pending.unfinished('w')).toHaveLength(1);
    stored = [];
    pending.forget();
    expect(await pending.in('w')).toHaveLength(1);
    expect(await pending.unfinished('w')).toEqual([]);
    now += KEPT_MS;
    expect(await pending.in('w')).toEqual([]);
  });
});

test('lists have what a job has yet to restore or to trash by its new state', async () => {
  const world = await openWorld();
  try {
    const owner = world.member(WorkspaceRole.OWNER);
    const { store } = world.stage.own;
    const [nodes, jobs] = [await store.collection(nodeCollection), await store.collection(jobCollection)];
    const [batchId, other] = [newId(), newId()];
    const [back, gone] = [await world.create(owner, { name: 'Back' }), await world.create(owner, { name: 'Gone' })];
    const child = await world.create(owner, { parentId: back.id });
    const lost = await world.create(owner, { parentId: gone.id });
    const work = store.begin();
    work.insert(jobs, jobOf(world.workspaceId, { kind: 'restore', headId: back.id, batchId }));
    work.insert(jobs, jobOf(world.workspaceId, { kind: 'trash', headId: gone.id, batchId: other }));
    const trash = async (id: string, by: string) => {
      const node = (await nodes.get(id)) as Node;
      work.replace(nodes, node, { ...node, state: 'trashed', batchId: by });
    };
    await trash(child.id, batchId);
    await trash(gone.id, other);
    await work.commit();
    await new Promise((resolve) => setTimeout(resolve, 2 * PENDING_MAX_AGE_MS));

    for (const limit of [1, 50]) {
      const shown = async (state: ResourceState) => {
        const ids: string[] = [];
        for (let offset = 0; offset < 6; offset += limit) {
          const page = { limit, offset, cursor: '' };
          ids.push(...(await world.list(owner, { recursive: true, state, page })).ids);
        }
        return ids.sort();
      };
      expect(await shown(ResourceState.ACTIVE)).toEqual([back.id, child.id].sort());
      expect(await shown(ResourceState.TRASHED)).toEqual([gone.id, lost.id].sort());
    }
  } finally {
    await world.stage.close();
  }
});

test('what a job has restored is live for a reader who read its record before', async () => {
  const world = await openWorld();
  try {
    const owner = world.member(WorkspaceRole.OWNER);
    const top = await world.create(owner, { name: 'Top' });
    const { id } = await world.create(owner, { parentId: top.id });
    const { store } = world.stage.own;
    const [nodes, jobs] = [await store.collection(nodeCollection), await store.collection(jobCollection)];
    const write = async (change: (work: UnitOfWork) => Promise<unknown>) => {
      const work = store.begin();
      await change(work);
      await work.commit();
    };
    const put = async (work: UnitOfWork, fields: Partial<Node>) => {
      const node = (await nodes.get(id)) as Node;
      work.replace(nodes, node, { ...node, ...fields });
    };
    const batchId = newId();
    const job = jobOf(world.workspaceId, { kind: 'restore', headId: top.id, batchId });
    await write(async (work) => {
      work.insert(jobs, job);
      await put(work, { state: 'trashed', batchId });
    });
    const pending = createPendingJobs(jobs);
    const tree = createTree(nodes, pending);
    expect(await tree.unsettled(world.workspaceId)).not.toEqual([]);

    const read = await nodes.getMany([id]);
    await write(async (work) => {
      work.remove(jobs, (await jobs.get(job.id)) as TreeJob);
      await put(work, { state: 'active', batchId: undefined });
    });
    pending.forget();
    expect((await tree.resolve(read)).map(({ state }) => state)).toEqual(['active']);
    expect(await tree.isRewritten(world.workspaceId)).toBe(false);
  } finally {
    await world.stage.close();
  }
});

test('a template has what a job moves into the workspace while its nodes are read', async () => {
  const node = { id: newId(), name: 'N', state: 'active', type: 'folder', ancestors: [], position: 'a', tags: [] };
  let place = 'source';
  const parts = {
    settings: { copyResources: 10 },
    tree: {
      unsettled: async () => ['source', 'here'],
      nodes: {
        async find({ where }: Query<Node>) {
          const wanted = where?.workspaceId as string | { in: string[] };
          const found = (typeof wanted === 'string' ? [wanted] : wanted.in).includes(place);
          place = 'here';
          return found ? [node] : [];
        },
      },
      resolve: async (page: readonly Node[]) => page.map((one) => ({ ...one, workspaceId: 'here' })),
    },
  };
  expect(await allOf(parts as never, 'here')).toMatchObject([{ id: node.id }]);
});
