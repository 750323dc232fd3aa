import type { Caller } from '@commonplace/kit/auth';
import { type Resource, ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ListResourcesRequest, ResourceInclude } from '@commonplace/proto/resources/v1/resource_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
let editor: Caller;
let viewer: Caller;
let folder: Resource;

beforeEach(async () => {
  world = await openWorld();
  editor = world.member(WorkspaceRole.EDITOR);
  viewer = world.member(WorkspaceRole.VIEWER);
  folder = await world.create(editor, { type: ResourceType.FOLDER, name: 'a folder' });
});
afterEach(() => world.stage.close());

/** Lists the folder as a caller. */
async function listed(caller: Caller, include: ResourceInclude[] = []): Promise<Resource> {
  const request = ListResourcesRequest.fromPartial({ workspaceId: world.workspaceId, recursive: false, include });
  const { items } = await world.resources.listResources(request, await world.stage.as(caller));
  expect(items).toHaveLength(1);
  return items[0] as Resource;
}

test('a resource that has not changed has the same message in the next list', async () => {
  const first = await listed(editor);
  expect(await listed(editor)).toBe(first);
  expect(await listed(world.member(WorkspaceRole.EDITOR))).toBe(first);
  expect(() => Object.assign(first, { name: 'changed' })).toThrow(TypeError);
});

test('callers see their own access', async () => {
  for (const [caller, role] of [
    [editor, ResourceRole.EDITOR],
    [viewer, ResourceRole.VIEWER],
    [editor, ResourceRole.EDITOR],
  ] as const) {
    expect((await listed(caller)).access).toMatchObject({ role, canWrite: role === ResourceRole.EDITOR });
  }
});

test('a list shows what was added below a resource, and its new name', async () => {
  expect(await listed(editor)).toMatchObject({ childCount: 0, hasChildren: false });
  await world.create(editor, { type: ResourceType.DOCUMENT, name: 'a page', parentId: folder.id });
  expect(await listed(editor)).toMatchObject({ childCount: 1, hasChildren: true, name: 'a folder' });
  await world.update(editor, folder.id, { updateMask: ['name'], name: 'renamed' });
  expect(await listed(editor)).toMatchObject({ childCount: 1, name: 'renamed' });
});

test('what a list includes is not part of the next list without it', async () => {
  expect(await listed(editor, [ResourceInclude.PATH])).toMatchObject({ path: { items: [] } });
  expect((await listed(editor)).path).toBeUndefined();
  expect(await listed(editor, [ResourceInclude.PATH])).toMatchObject({ path: { items: [] } });
});
