import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { Collection, Query } from '@commonplace/kit/store';
import { AccessMode } from '@commonplace/proto/resources/v1/resource.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { jobCollection, type TreeJob } from '../src/nodes/jobs.js';
import { createPendingJobs, PENDING_MAX_AGE_MS } from '../src/nodes/pending.js';
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
});
