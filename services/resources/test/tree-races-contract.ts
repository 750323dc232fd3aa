import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenedStore } from '@commonplace/adapters/testing';
import type { Caller } from '@commonplace/kit/auth';
import { eventually } from '@commonplace/kit/testing';
import { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ListTrashRequest } from '@commonplace/proto/resources/v1/trash_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';

import { openWorld, type World } from './stage.js';

let openStore: (() => Promise<OpenedStore>) | undefined;
let opened: OpenedStore | undefined;
let world: World;
let owner: Caller;

async function open(): Promise<void> {
  opened = await openStore?.();
  world = await openWorld(opened?.store);
  owner = world.member(WorkspaceRole.OWNER);
}

async function close(): Promise<void> {
  await world.stage.close();
  await opened?.close();
}

/** Tests on a store that the tree stays a tree, whatever is moved at once. */
export function treeRacesContract(name: string, onStore?: () => Promise<OpenedStore>): void {
  describe(`the tree on ${name}`, () => {
    beforeAll(() => {
      openStore = onStore;
    });

    describe('moves', () => {
      beforeAll(open);
      afterAll(close);

      test.each([2, 3, 5])('of %i moves at once that would close a circle, one is refused', async (size) => {
        for (let round = 0; round < 5; round++) {
          const nodes = await Promise.all(Array.from({ length: size }, () => world.create(owner, {})));
          const moves = nodes.map(({ id }, i) => move(id, nodes[(i + 1) % size]?.id as string));
          const refused = (await Promise.allSettled(moves)).filter(({ status }) => status === 'rejected');
          expect(refused).toEqual([
            { status: 'rejected', reason: expect.objectContaining({ reason: 'cycle_detected' }) },
          ]);
          await eventually(async () => {
            const depths = await Promise.all(
              nodes.map(async ({ id }) => (await world.get(owner, id)).path?.items.length),
            );
            expect(depths.sort()).toEqual(nodes.map((_, i) => i));
          });
        }
      });
    });

    describe('moves that would make the tree too deep', () => {
      afterEach(async () => {
        delete process.env.COMMONPLACE_INLINE_SUBTREE;
        await close();
      });

      // Folders of twelve levels are short: two of them fit below each other, three do not. Those of seventeen are tall.
      test.each([
        { levels: 12, moves: 2 },
        { levels: 17, moves: 1 },
        { levels: 9, moves: 3 },
      ])(
        'of $moves moves and a copy at once of $levels levels, some are refused',
        async ({ levels, moves }) => {
          await open();
          for (let round = 0; round < 3; round++) {
            const chains = await inTurn(moves + 1, () => chain(levels));
            const copied = await chain(levels);
            const below = (i: number) => chains[i]?.at(-1) as string;
            // What arrives lowest is sent first, and committed after the others have read what is below them.
            const sends: (() => Promise<unknown>)[] = [
              () => copy(copied[0] as string, below(moves)),
              ...chains
                .slice(1)
                .map(
                  ([head], i) =>
                    () =>
                      move(head as string, below(i)),
                )
                .reverse(),
            ];
            const results = await Promise.allSettled(sends.map((send, i) => sleep(4 * i * round).then(send)));
            const refused = results.filter(({ status }) => status === 'rejected');
            expect(refused.length).toBeGreaterThan(0);
            for (const one of refused) expect(one).toMatchObject({ reason: { reason: 'depth_exceeded' } });
            expect(await depth()).toBeLessThanOrEqual(32);
          }
        },
        60_000,
      );

      test('moves of short subtrees at once do not disturb each other', async () => {
        await open();
        const [home] = await chain(1);
        const heads = await inTurn(12, async () => (await chain(3))[0] as string);
        await Promise.all(heads.map((id) => move(id, home as string)));
        expect(await depth()).toBe(4);
      });

      test.each([1, 2])(
        'large subtrees that move, %i at once, and what a job has not placed yet',
        async (atOnce) => {
          process.env.COMMONPLACE_INLINE_SUBTREE = '3';
          await open();
          const [upper, lower, other] = await inTurn(3, () => chain(20));
          const moves = [lower, other].slice(0, atOnce).map((one) => move(one?.[0] as string, upper?.at(-1) as string));
          for (const one of await Promise.allSettled(moves)) {
            expect(one).toMatchObject({ status: 'rejected', reason: { reason: 'depth_exceeded' } });
          }
          // The first move leaves a job; the subtree that it moves is counted although its records do not name the new head.
          const short = await chain(6);
          await move(short[0] as string, lower?.at(-1) as string);
          await expect(move(lower?.[0] as string, upper?.[6] as string)).rejects.toMatchObject({
            reason: 'depth_exceeded',
          });
          await move(lower?.[0] as string, upper?.[5] as string);
          await eventually(async () => expect(await depth()).toBe(32));
        },
        60_000,
      );
    });

    describe('changes of large subtrees', () => {
      afterEach(async () => {
        delete process.env.COMMONPLACE_INLINE_SUBTREE;
        await close();
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
        await eventually(async () =>
          expect((await trash()).sort()).toEqual([head, ...below].map(({ id }) => id).sort()),
        );
        expect((await world.list(owner)).total).toBe(0);
      });

      test.each([1, 2])(
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
  });
}

const move = (id: string, parentId: string) => world.update(owner, id, { updateMask: ['parent_id'], parentId });
const copy = async (resourceId: string, parentId: string) =>
  world.copies.copyResource(CopyResourceRequest.fromPartial({ resourceId, parentId }), await world.stage.as(owner));

/** Creates a chain of folders. Returns their ids from the top down. */
async function chain(levels: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < levels; i++) {
    ids.push((await world.create(owner, { type: ResourceType.FOLDER, parentId: ids.at(-1) })).id);
  }
  return ids;
}

async function inTurn<T>(times: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < times; i++) made.push(await make());
  return made;
}

/** Returns the number of levels of the tree. */
async function depth(): Promise<number> {
  const { ids } = await world.list(owner, { recursive: true, page: { limit: 500, offset: 0, cursor: '' } });
  const paths = await Promise.all(ids.map(async (id) => (await world.get(owner, id)).path?.items.length ?? 0));
  return 1 + Math.max(...paths);
}

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
