import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '@commonplace/kit/auth';
import { eventually } from '@commonplace/kit/testing';
import { AccessMode } from '@commonplace/proto/resources/v1/resource.js';
import { ListTrashRequest } from '@commonplace/proto/resources/v1/trash_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

/** Tests that the tree stays a tree, whatever is moved at once. */

let world: World;
let owner: Caller;

async function open(): Promise<void> {
  world = await openWorld();
  owner = world.member(WorkspaceRole.OWNER);
}

describe('moves', () => {
  beforeAll(open);
  afterAll(() => world.stage.close());

  test.each([2, 3, 5])('of %i moves at once that would close a circle, one is refused', async (size) => {
    for (let round = 0; round < 10; round++) {
      const nodes = await Promise.all(Array.from({ length: size }, () => world.create(owner, {})));
      const moves = nodes.map(({ id }, i) => move(id, nodes[(i + 1) % size]?.id as string));
      const refused = (await Promise.allSettled(moves)).filter(({ status }) => status === 'rejected');
      expect(refused).toEqual([{ status: 'rejected', reason: expect.objectContaining({ reason: 'cycle_detected' }) }]);
      await eventually(async () => {
        const depths = await Promise.all(nodes.map(async ({ id }) => (await world.get(owner, id)).path?.items.length));
        expect(depths.sort()).toEqual(nodes.map((_, i) => i));
      });
    }
  });
});

describe('changes of large subtrees', () => {
  afterEach(async () => {
    delete process.env.COMMONPLACE_INLINE_SUBTREE;
    await world.stage.close();
  });

  test('a subtree goes into the trash as a whole although its head changes meanwhile', async () => {
    process.env.COMMONPLACE_INLINE_SUBTREE = '3';
    await open();
    const head = await world.create(owner, {});
    const below = await Promise.all(Array.from({ length: 5 }, () => world.create(owner, { parentId: head.id })));
    const removed = world.remove(owner, head.id);
    // By then the job is announced, and the head is not written yet.
    await sleep(200);
    await world.update(owner, head.id, { updateMask: ['description'], description: 'Changed' });
    await removed;
    await eventually(async () => expect((await trash()).sort()).toEqual([head, ...below].map(({ id }) => id).sort()));
    expect((await world.list(owner)).total).toBe(0);
  });

  test.each([1, 2, 3, 4])(
    'leave a tree in which everything is live and counted (history %i)',
    async (seed) => {
      // Subtrees of three nodes or more are processed by a job.
      process.env.COMMONPLACE_INLINE_SUBTREE = '3';
      await open();
      const random = randomBelow(seed);
      const ids: string[] = [];
      const any = () => ids[random(ids.length)] as string;
      for (let i = 0; i < 16; i++) {
        ids.push((await world.create(owner, i < 3 ? {} : { parentId: any() })).id);
      }
      const acts: (() => Promise<unknown>)[] = [
        () => move(any(), any()),
        () => move(any(), any()),
        () => world.update(owner, any(), { updateMask: ['workspace_id'], workspaceId: world.otherWorkspaceId }),
        () => world.update(owner, any(), { updateMask: ['workspace_id'], workspaceId: world.workspaceId }),
        () => world.update(owner, any(), { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED }),
        () => world.update(owner, any(), { updateMask: ['access_mode'], accessMode: AccessMode.INHERIT }),
        () => world.update(owner, any(), { updateMask: ['description'], description: 'Changed' }),
        () => world.remove(owner, any()),
        () => restore(any()),
        () => restore(any()),
        async () => ids.push((await world.create(owner, { parentId: any() })).id),
      ];
      for (let round = 0; round < 12; round++) {
        const some = Array.from({ length: 6 }, () => acts[random(acts.length)]?.());
        // Most are refused, because what they are about is in the trash.
        await Promise.allSettled(some);
      }
      await eventually(async () => {
        for (const workspaceId of [world.workspaceId, world.otherWorkspaceId]) {
          const { ids: live, total } = await world.list(owner, { workspaceId, recursive: true });
          expect(live.length).toBe(total);
          for (const id of live) {
            const { path } = await world.get(owner, id);
            expect(live).toEqual(expect.arrayContaining(path?.items.map((one) => one.id) ?? []));
          }
        }
      }, 20_000);
    },
    60_000,
  );
});

const move = (id: string, parentId: string) => world.update(owner, id, { updateMask: ['parent_id'], parentId });
const trash = async () => {
  const page = { limit: 100, offset: 0, cursor: '' };
  const request = ListTrashRequest.fromPartial({ workspaceId: world.workspaceId, page, includeDescendants: true });
  return (await world.trash.listTrash(request, await world.stage.as(owner))).items.map(({ id }) => id);
};
const restore = async (resourceId: string) =>
  world.trash.restoreResource({ resourceId, parentId: undefined }, await world.stage.as(owner));

/** Returns a function that returns numbers below its argument, the same sequence for the same seed. */
function randomBelow(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
}
