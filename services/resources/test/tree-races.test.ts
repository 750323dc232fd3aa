import type { Caller } from '@commonplace/kit/auth';
import { eventually } from '@commonplace/kit/testing';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

/** Tests that the tree stays a tree, whatever is moved at once. */

let world: World;
let owner: Caller;
beforeAll(async () => {
  world = await openWorld();
  owner = world.member(WorkspaceRole.OWNER);
});
afterAll(() => world.stage.close());

const move = (id: string, parentId: string) => world.update(owner, id, { updateMask: ['parent_id'], parentId });

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
