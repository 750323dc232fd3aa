import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { contracts } from '@commonplace/platform/contracts';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { CreateTemplateRequest } from '@commonplace/proto/resources/v1/template_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Node } from '../src/domain/node.js';
import { nodeCollection } from '../src/nodes/records.js';
import { openWorld, type World } from './stage.js';

/** Maximum resources of a workspace, and of one parent. */
const [RESOURCES, CHILDREN] = [30, 20];

let world: World;
beforeAll(async () => {
  process.env.COMMONPLACE_WORKSPACE_RESOURCES = String(RESOURCES);
  process.env.COMMONPLACE_CHILDREN = String(CHILDREN);
});
afterAll(() => {
  delete process.env.COMMONPLACE_WORKSPACE_RESOURCES;
  delete process.env.COMMONPLACE_CHILDREN;
});
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.stage.close());

const refusals = (results: readonly PromiseSettledResult<unknown>[]): string[] =>
  results.flatMap((result) => (result.status === 'rejected' ? [result.reason.reason] : []));

test('a workspace stays within its limit when 50 resources are created concurrently below several parents', async () => {
  const boss = world.member(WorkspaceRole.ADMIN);
  const { workspaceId } = world;
  const folders: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    folders.push((await world.create(boss, { workspaceId, type: ResourceType.FOLDER, name })).id);
  }
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, at) =>
      world.create(boss, { parentId: folders[at % 3] as string, type: ResourceType.DOCUMENT, name: `d${at}` }),
    ),
  );
  expect(refusals(results)).toEqual(Array(50 - (RESOURCES - 3)).fill('limit_reached'));
  expect((await world.list(boss, { workspaceId })).total).toBe(RESOURCES);
});

test.each(['at the top', 'in a folder'])('limits the number of siblings %s', async (where) => {
  const boss = world.member(WorkspaceRole.ADMIN);
  const { workspaceId } = world;
  const inFolder = where === 'in a folder';
  const folder = inFolder
    ? (await world.create(boss, { workspaceId, type: ResourceType.FOLDER, name: 'f' })).id
    : undefined;
  const place = folder === undefined ? { workspaceId } : { parentId: folder };
  const create = (at: number) => world.create(boss, { ...place, type: ResourceType.FOLDER, name: `d${at}` });
  const results = await Promise.allSettled(Array.from({ length: 50 }, (_, at) => create(at)));
  expect(refusals(results)).toEqual(Array(50 - CHILDREN).fill('limit_reached'));
  const [made] = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  // A resource may still move among its siblings, and a deleted one frees its place.
  await world.update(boss, made?.id ?? '', { position: Buffer.from('"last"'), updateMask: ['position'] });
  await world.remove(boss, made?.id ?? '');
  const again = await Promise.allSettled(Array.from({ length: 5 }, (_, at) => create(100 + at)));
  expect(refusals(again)).toEqual(Array(4).fill('limit_reached'));
});

test('restoring and moving resources requires capacity', async () => {
  const boss = world.member(WorkspaceRole.ADMIN);
  const { workspaceId, otherWorkspaceId } = world;
  const folder = await world.create(boss, { workspaceId, type: ResourceType.FOLDER, name: 'f' });
  const fill = (count: number, parentId: string) =>
    Promise.all(
      Array.from({ length: count }, (_, at) =>
        world.create(boss, { parentId, type: ResourceType.DOCUMENT, name: `${at}` }),
      ),
    );
  await fill(10, folder.id);
  await world.remove(boss, folder.id);
  const other = await world.create(boss, { workspaceId, type: ResourceType.FOLDER, name: 'g' });
  await fill(19, other.id);
  const metadata = await world.stage.as(boss);
  await expect(
    world.trash.restoreResource({ resourceId: folder.id, parentId: undefined }, metadata),
  ).rejects.toMatchObject({
    reason: 'limit_reached',
  });
  const away = await world.create(boss, { workspaceId: otherWorkspaceId, type: ResourceType.FOLDER, name: 'h' });
  await fill(10, away.id);
  const move = (dryRun: boolean) => world.update(boss, away.id, { workspaceId, dryRun });
  for (const dryRun of [true, false]) await expect(move(dryRun)).rejects.toMatchObject({ reason: 'limit_reached' });
  await world.remove(boss, other.id);
  await move(false);
  await world.trash.restoreResource({ resourceId: folder.id, parentId: undefined }, metadata);
  expect((await world.list(boss, { workspaceId })).total).toBe(22);
});

test.each([
  ['at the top', (items: object[]) => items],
  ['in a folder', (children: object[]) => [{ type: 'folder', name: 'f', children }]],
])('limits the number of siblings in the tree of a template, %s', async (_, within) => {
  const templates = world.stage.host.client(contracts.templates);
  const member = world.member(WorkspaceRole.ADMIN);
  const boss = { ...member, credential: { ...member.credential, scopes: KNOWN_SCOPES } };
  const create = async (count: number) => {
    const items = Array.from({ length: count }, (_, at) => ({ type: 'document', name: `d${at}` }));
    const tree = Buffer.from(JSON.stringify(within(items)));
    return templates.createTemplate(CreateTemplateRequest.fromPartial({ name: 'T', tree }), await world.stage.as(boss));
  };
  const { id: templateId } = await create(CHILDREN);
  await expect(create(CHILDREN + 1)).rejects.toMatchObject({ reason: 'limit_reached' });

  const use = async () => {
    const apply = world.stage.host.client(contracts.templateUse).applyTemplate;
    return apply({ templateId, workspaceId: newId(), orgId: undefined }, await world.stage.as(boss));
  };
  await use();
  // As if the template had been made before the limit was lowered.
  const { store } = world.stage.own;
  const nodes = await store.collection(nodeCollection);
  const [last] = await nodes.find({ where: { workspaceId: templateId, type: 'document' }, limit: 1 });
  const work = store.begin();
  work.insert(nodes, { ...(last as Node), id: newId() });
  await work.commit();
  await expect(use()).rejects.toMatchObject({ reason: 'limit_reached' });
});
