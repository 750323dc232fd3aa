import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { eventually } from '@commonplace/kit/testing';
import { AccessMode, ResourceState, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { EmptyTrashStatus, ListTrashRequest } from '@commonplace/proto/resources/v1/trash_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

/** With a limit of 3, subtrees of three nodes or more are processed by a job, so that both paths are tested. */
const SIZES = { within: '1000', beyond: '3' };

describe.each(Object.entries(SIZES))('a subtree %s the limit of one request', (_, limit) => {
  let world: World;
  let owner: Caller;
  beforeAll(async () => {
    process.env.COMMONPLACE_INLINE_SUBTREE = limit;
    process.env.COMMONPLACE_INLINE_PURGE = limit;
    world = await openWorld();
    owner = world.member(WorkspaceRole.OWNER);
  });
  afterAll(async () => {
    delete process.env.COMMONPLACE_INLINE_SUBTREE;
    delete process.env.COMMONPLACE_INLINE_PURGE;
    await world.stage.close();
  });

  /** Creates head > (a > a1 > a2), b: five nodes. */
  async function grow() {
    const head = await world.create(owner, { name: 'head' });
    const a = await world.create(owner, { name: 'a', parentId: head.id });
    const a1 = await world.create(owner, { name: 'a1', parentId: a.id });
    const a2 = await world.create(owner, { name: 'a2', parentId: a1.id, type: ResourceType.DOCUMENT });
    const b = await world.create(owner, { name: 'b', parentId: head.id });
    return { head, a, a1, a2, b };
  }

  const move = (id: string, parentId: string | undefined, more = {}) =>
    world.update(owner, id, { updateMask: ['parent_id'], parentId, ...more });
  const pathOf = async (id: string) => (await world.get(owner, id)).path?.items.map(({ name }) => name);
  const restore = async (id: string, caller = owner, parentId?: string) =>
    world.trash.restoreResource({ resourceId: id, parentId }, await world.stage.as(caller));
  const settled = () =>
    eventually(async () => {
      const all = await world.list(owner);
      expect(all.total).toBe(all.ids.length);
    });

  test('moves at once with all descendants', async () => {
    const { head, a2 } = await grow();
    const target = await world.create(owner, { name: 'target' });
    await move(head.id, target.id);
    expect(await pathOf(a2.id)).toEqual(['target', 'head', 'a', 'a1']);
    const below = await world.list(owner, { parentId: target.id, recursive: true });
    expect(below.names.sort()).toEqual(['a', 'a1', 'a2', 'b', 'head']);
    await settled();
    expect(await pathOf(a2.id)).toEqual(['target', 'head', 'a', 'a1']);
  });

  test('cannot be moved below itself or too deep', async () => {
    const { head, a2, a1 } = await grow();
    await expect(move(head.id, a1.id)).rejects.toMatchObject({ reason: 'cycle_detected' });
    await expect(move(head.id, head.id)).rejects.toMatchObject({ reason: 'cycle_detected' });
    let parentId = head.id;
    for (let depth = 2; depth <= 32; depth++) parentId = (await world.create(owner, { parentId })).id;
    await expect(world.create(owner, { parentId })).rejects.toMatchObject({ reason: 'depth_exceeded' });
    await expect(move(a2.id, parentId)).rejects.toMatchObject({ reason: 'depth_exceeded' });
    await settled();
  });

  test('cannot be restored too deep', async () => {
    const { head, b } = await grow();
    await world.remove(owner, head.id);
    let parentId = (await world.create(owner, {})).id;
    for (let depth = 2; depth <= 32; depth++) parentId = (await world.create(owner, { parentId })).id;
    await settled();
    await expect(restore(head.id, owner, parentId)).rejects.toMatchObject({ reason: 'depth_exceeded' });
    expect((await restore(head.id)).relocated).toBe(false);
    await settled();
    expect(await pathOf(b.id)).toEqual(['head']);
  });

  test('moves to another workspace of the Org, but not to another tenant', async () => {
    const { head, a, a1, a2, b } = await grow();
    const moved = new Set<string>();
    const note = ({ data }: DomainEvent) => {
      expect(data.workspaceId).toBe(world.otherWorkspaceId);
      for (const id of data.resourceIds as string[]) moved.add(id);
    };
    const subscription = await world.stage.host.bus.watch(['commonplace.resources.resource.moved'], note);
    await world.update(owner, head.id, { updateMask: ['workspace_id'], workspaceId: world.otherWorkspaceId });
    expect((await world.get(owner, a2.id)).workspaceId).toBe(world.otherWorkspaceId);
    const there = await world.list(owner, { workspaceId: world.otherWorkspaceId });
    expect(there.ids).toContain(a2.id);
    const across = { updateMask: ['workspace_id'], workspaceId: world.personalId };
    await expect(world.update(owner, head.id, across)).rejects.toMatchObject({ reason: 'tenant_boundary' });
    await eventually(async () => {
      const all = await world.list(owner, { workspaceId: world.otherWorkspaceId });
      expect([all.total, all.ids.length]).toEqual([5, 5]);
    });
    // Events name all of them, so that others forget what they have kept of them in the former workspace.
    await eventually(async () => expect([...moved].sort()).toEqual([head, a, a1, a2, b].map(({ id }) => id).sort()));
    await subscription.close();
  });

  test('is restricted at once with all descendants', async () => {
    const editor = world.member(WorkspaceRole.EDITOR);
    const { head, a2 } = await grow();
    expect((await world.get(editor, a2.id)).id).toBe(a2.id);
    await world.update(owner, head.id, { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED });
    await expect(world.get(editor, a2.id)).rejects.toMatchObject({ reason: 'not_found' });
    expect((await world.list(editor)).ids).not.toContain(a2.id);
    await settled();
    await expect(world.get(editor, a2.id)).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('is trashed and restored as one batch', async () => {
    const { head, a, a1, a2, b } = await grow();
    await world.remove(owner, b.id);
    const { trashedCount } = await world.remove(owner, head.id);
    expect(trashedCount).toBeGreaterThanOrEqual(4);
    for (const { id } of [head, a, a1, a2]) {
      await expect(world.get(owner, id)).rejects.toMatchObject({ reason: 'resource_in_trash' });
    }
    expect((await world.list(owner)).ids).not.toContain(a2.id);
    await settled();
    const { restoredCount, relocated, resource } = await restore(head.id);
    expect([restoredCount, relocated, resource?.state]).toEqual([trashedCount, false, ResourceState.ACTIVE]);
    expect((await world.get(owner, a2.id)).state).toBe(ResourceState.ACTIVE);
    // b was deleted on its own, so it stays in the trash.
    await expect(world.get(owner, b.id)).rejects.toMatchObject({ reason: 'resource_in_trash' });
    await settled();
    await expect(restore(head.id)).rejects.toMatchObject({ reason: 'not_in_trash' });
  });

  test('is restored, trashed again and purged before the job has finished', async () => {
    const { head, a, a1, a2, b } = await grow();
    const all = [head, a, a1, a2, b];
    const states = async () => (await Promise.all(all.map(({ id }) => world.get(owner, id)))).map(({ state }) => state);
    for (let round = 0; round < 3; round++) {
      expect((await world.remove(owner, head.id)).trashedCount).toBe(all.length);
      expect((await restore(head.id)).restoredCount).toBe(all.length);
    }
    await settled();
    expect(await states()).toEqual(all.map(() => ResourceState.ACTIVE));

    await world.remove(owner, head.id);
    const request = { workspaceId: world.workspaceId, resourceIds: [head.id], olderThan: undefined };
    await world.trash.emptyTrash(request, await world.stage.as(owner));
    await eventually(async () => {
      for (const { id } of all) await expect(world.get(owner, id)).rejects.toMatchObject({ reason: 'not_found' });
    });
    await settled();
  });

  test('a child whose parent is in the trash is restored to the nearest live ancestor', async () => {
    const { head, a, a1 } = await grow();
    await world.remove(owner, a1.id);
    await world.remove(owner, a.id);
    await settled();
    const { relocated, resource } = await restore(a1.id);
    expect([relocated, resource?.parentId]).toEqual([true, head.id]);
    await settled();
  });

  test('the trash is listed newest first and deleted permanently', async () => {
    const { head, a2, b } = await grow();
    await world.remove(owner, b.id);
    // Deletions within the same millisecond have no defined order.
    await sleep(20);
    await world.remove(owner, head.id);
    await settled();
    const page = { limit: 100, offset: 0, cursor: '' };
    const list = async (includeDescendants: boolean) => {
      const request = ListTrashRequest.fromPartial({ workspaceId: world.workspaceId, page, includeDescendants });
      return world.trash.listTrash(request, await world.stage.as(owner));
    };
    expect((await list(false)).items.slice(0, 2).map(({ id }) => id)).toEqual([head.id, b.id]);
    await eventually(async () => expect((await list(true)).items.map(({ id }) => id)).toContain(a2.id));
    const viewer = world.member(WorkspaceRole.EDITOR);
    const empty = async (caller: Caller) =>
      world.trash.emptyTrash(
        { workspaceId: world.workspaceId, resourceIds: [], olderThan: undefined },
        await world.stage.as(caller),
      );
    await expect(empty(viewer)).rejects.toMatchObject({ reason: 'insufficient_role' });
    const emptied = await empty(owner);
    if (emptied.status === EmptyTrashStatus.COMPLETED) expect(emptied.purgedCount).toBeGreaterThanOrEqual(5);
    await eventually(async () => expect((await list(true)).items).toEqual([]));
    await expect(world.get(owner, a2.id)).rejects.toMatchObject({ reason: 'not_found' });
  });
});

test('a child is not created below a parent that is being trashed', async () => {
  const world = await openWorld();
  const owner = world.member(WorkspaceRole.OWNER);
  for (let round = 0; round < 10; round++) {
    const parent = await world.create(owner, {});
    const creations = Array.from({ length: 8 }, () =>
      world.create(owner, { parentId: parent.id }).catch(() => undefined),
    );
    await world.remove(owner, parent.id);
    await Promise.all(creations);
    await eventually(async () => expect((await world.list(owner, { parentId: parent.id })).ids).toEqual([]));
  }
  await world.stage.close();
});
