import type { Caller } from '@commonplace/kit/auth';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ListResourcesRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
let editor: Caller;
/** Names in the order of creation, by type. */
const made = new Map<ResourceType, string[]>();

beforeAll(async () => {
  world = await openWorld();
  editor = world.member(WorkspaceRole.EDITOR);
  for (let i = 0; i < 60; i++) {
    const type = i % 20 === 5 ? ResourceType.TABLE : i % 3 === 0 ? ResourceType.FOLDER : ResourceType.DOCUMENT;
    const { name } = await world.create(editor, { type, name: `${(i * 7) % 60} of ${i}`.padStart(9, '0') });
    made.set(type, [...(made.get(type) ?? []), name]);
  }
});
afterAll(() => world.stage.close());

const TYPES = [[ResourceType.TABLE], [ResourceType.DOCUMENT], [ResourceType.TABLE, ResourceType.FOLDER]];
const named = (types: readonly ResourceType[]) => types.flatMap((type) => made.get(type) ?? []);

/** Returns all names and the totals, page by page. */
async function pages(
  fields: Partial<ListResourcesRequest>,
  limit: number,
): Promise<{ names: string[]; totals: number[] }> {
  const names: string[] = [];
  const totals: number[] = [];
  for (let cursor = ''; ; ) {
    const { workspaceId } = world;
    const request = ListResourcesRequest.fromPartial({ workspaceId, page: { limit, offset: 0, cursor }, ...fields });
    const { items, page } = await world.resources.listResources(request, await world.stage.as(editor));
    names.push(...items.map(({ name }) => name));
    totals.push(page?.total ?? -1);
    cursor = page?.nextCursor ?? '';
    if (cursor === '') return { names, totals };
  }
}

// A rare type's page is sorted from all its resources, a common type's is read in order: both must continue correctly.
test.each([1, 2, 7, 200])('lists rare and common types, %d at a time', async (limit) => {
  for (const type of TYPES) {
    for (const sort of ['name', '-name', '-created_at', 'position']) {
      const { names, totals } = await pages({ type, sort }, limit);
      const byName = named(type).sort();
      if (sort === '-name') byName.reverse();
      expect(sort.endsWith('name') ? names : [...names].sort()).toEqual(byName);
      expect(new Set(totals)).toEqual(new Set([byName.length]));
    }
  }
});

test.each([1, 7, 200])('lists the few resources with a text in their names, %d at a time', async (limit) => {
  for (const sort of ['name', '-name', '-created_at', 'position']) {
    const { names, totals } = await pages({ q: '5 OF', sort }, limit);
    const byName = [...made.values()]
      .flat()
      .filter((name) => name.includes('5 of'))
      .sort();
    if (sort === '-name') byName.reverse();
    expect(sort.endsWith('name') ? names : [...names].sort()).toEqual(byName);
    expect(new Set(totals)).toEqual(new Set([byName.length]));
  }
});

test('combines with other filters, with a parent and with the trash', async () => {
  const type = [ResourceType.TABLE];
  const [first = '', ...others] = named(type);
  expect((await world.list(editor, { type, q: first })).names).toEqual([first]);
  const folder = await world.create(editor, { name: 'Above' });
  const below = await world.create(editor, { type: ResourceType.TABLE, name: 'Below', parentId: folder.id });
  expect((await world.list(editor, { type, parentId: folder.id })).names).toEqual(['Below']);
  expect((await world.list(editor, { type, parentId: 'root' })).total).toBe(others.length + 1);
  await world.remove(editor, below.id);
  expect((await world.list(editor, { type })).total).toBe(others.length + 1);
});

test('lists restricted resources to their readers only', async () => {
  const type = [ResourceType.FILE, ResourceType.ARTIFACT];
  const admin = world.member(WorkspaceRole.ADMIN);
  const { id } = await world.create(admin, { type: ResourceType.ARTIFACT, name: 'Own' });
  expect((await world.list(editor, { type })).names).toEqual(['Own']);
  await world.update(admin, id, { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED });
  expect(await world.list(editor, { type })).toEqual({ ids: [], names: [], total: 0 });
  expect((await world.list(admin, { type })).total).toBe(1);
});
