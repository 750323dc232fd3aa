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
