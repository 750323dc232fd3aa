import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ListResourcesRequest, ResourceInclude } from '@commonplace/proto/resources/v1/resource_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stage.close());

test('a list with contents ends a page before the document that has no room on it', async () => {
  const editor = world.member(WorkspaceRole.EDITOR);
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names) {
    const content = Buffer.from(JSON.stringify(`${name} ${'word '.repeat(500_000)}`));
    await world.create(editor, { type: ResourceType.DOCUMENT, name, content });
  }
  await world.create(editor, { type: ResourceType.FOLDER, name: 'e' });

  const list = async (include: ResourceInclude[], page: object) => {
    const fields = { workspaceId: world.workspaceId, sort: 'name', include, page: { limit: 200, ...page } };
    return world.resources.listResources(ListResourcesRequest.fromPartial(fields), await world.stage.as(editor));
  };
  const namesOf = ({ items }: Awaited<ReturnType<typeof list>>) => items.map(({ name }) => name);

  expect(namesOf(await list([], {}))).toEqual([...names, 'e']);
  const first = await list([ResourceInclude.CONTENT], {});
  expect(namesOf(first)).toEqual(['a', 'b']);
  expect(first.items.map(({ content }) => content !== undefined)).toEqual([true, true]);
  expect(first.page).toMatchObject({ limit: 200, total: 5, hasMore: true, nextOffset: 2 });
  const second = await list([ResourceInclude.CONTENT], { cursor: first.page?.nextCursor });
  expect(namesOf(second)).toEqual(['c', 'd', 'e']);
  expect(second.page).toMatchObject({ hasMore: false, nextCursor: undefined });
  expect(namesOf(await list([ResourceInclude.CONTENT], { offset: 2 }))).toEqual(['c', 'd', 'e']);
});

test('contents need their own scope, in lists and of one resource', async () => {
  const editor = world.member(WorkspaceRole.EDITOR);
  const { id } = await world.create(editor, { type: ResourceType.DOCUMENT, content: Buffer.from('"Words"') });
  const { workspaceId, resources } = world;
  const reader = { ...editor, credential: { ...editor.credential, scopes: ['resource:read'] } };
  const get = async (...include: ResourceInclude[]) =>
    resources.getResource({ resourceId: id, include, includeTrashed: false }, await world.stage.as(reader));
  const list = async (...include: ResourceInclude[]) =>
    resources.listResources(ListResourcesRequest.fromPartial({ workspaceId, include }), await world.stage.as(reader));

  const refused = { reason: 'insufficient_scope', details: { scope: 'content:read' } };
  await expect(get(ResourceInclude.CONTENT)).rejects.toMatchObject(refused);
  await expect(list(ResourceInclude.PATH, ResourceInclude.CONTENT)).rejects.toMatchObject(refused);
  expect(await get(ResourceInclude.PATH)).toMatchObject({ id, content: undefined });
  expect((await list()).items.length).toBeGreaterThan(0);
});
