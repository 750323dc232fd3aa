import type { Caller } from '@commonplace/kit/auth';
import { GetContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
let owner: Caller;
beforeAll(async () => {
  world = await openWorld();
  owner = world.member(WorkspaceRole.OWNER);
});
afterAll(() => world.stage.close());

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

const COLUMNS = [
  { id: 'name', name: 'Name' },
  { id: 'age', name: 'Age', type: 'number' },
];

const follow = (type: string, more: object) => ({
  id: type,
  name: type,
  type,
  options: { link_column_id: 'link', ...more },
});

/** Creates a table in `workspaceId` whose lookup and rollup follow a link to a table in `targetId`, and reads them. */
async function followed(workspaceId: string, targetId: string, by: Caller) {
  const target = await world.create(owner, {
    ...{ type: ResourceType.TABLE, workspaceId: targetId, columns: json(COLUMNS) },
    rows: json([{ id: 'ada', cells: { name: 'Ada', age: 36 } }]),
  });
  const columns = [
    { id: 'link', name: 'Link', type: 'link', options: { target_table_id: target.id } },
    follow('lookup', { target_column_id: 'name' }),
    follow('rollup', { target_column_id: 'age', function: 'sum' }),
  ];
  const { id } = await world.create(owner, {
    ...{ type: ResourceType.TABLE, workspaceId, columns: json(columns) },
    rows: json([{ id: 'row', cells: { link: ['ada'] } }]),
  });
  const request = GetContentRequest.fromPartial({ resourceId: id, page: { limit: 10, offset: 0, cursor: '' } });
  const { rows } = await world.content.getContent(request, await world.stage.as(by));
  const { lookup, rollup } = JSON.parse(rows.toString())[0].cells;
  return { lookup, rollup };
}

const NOT_AVAILABLE = { error: 'The linked table is not available.' };
const CLOSED = { lookup: NOT_AVAILABLE, rollup: NOT_AVAILABLE };

describe('a credential that does not reach everything that its person can read', () => {
  const limited = () => ({ ...owner, credential: { ...owner.credential, workspaceIds: [world.workspaceId] } });
  const ofOrg = () => ({ ...owner, tenant: { orgId: world.orgId } });
  const personal = () => ({ ...owner, tenant: { orgId: null } });

  test('looks nothing up in a table of another workspace or tenant', async () => {
    const { workspaceId, otherWorkspaceId, personalId } = world;
    expect(await followed(workspaceId, otherWorkspaceId, owner)).toEqual({ lookup: ['Ada'], rollup: 36 });
    expect(await followed(workspaceId, workspaceId, limited())).toEqual({ lookup: ['Ada'], rollup: 36 });
    expect(await followed(workspaceId, otherWorkspaceId, limited())).toEqual(CLOSED);
    expect(await followed(workspaceId, personalId, ofOrg())).toEqual(CLOSED);
    expect(await followed(personalId, workspaceId, personal())).toEqual(CLOSED);
    expect(await followed(workspaceId, otherWorkspaceId, { ...owner, workspaceId })).toEqual(CLOSED);
  });

  test('names no asset of another workspace or tenant in an artifact', async () => {
    const { workspaceId, otherWorkspaceId, personalId } = world;
    const using = async (assetWorkspaceId: string, by: Caller) => {
      const asset = await world.create(owner, { workspaceId: assetWorkspaceId });
      const content = json({ artifact_type: 'html', source: '', assets: [{ name: 'a', resource_id: asset.id }] });
      return world.create(by, { type: ResourceType.ARTIFACT, workspaceId, content }).then(
        () => 'created',
        (error) => error.faults?.map(({ param }: { param: string }) => param) ?? error,
      );
    };
    expect(await using(otherWorkspaceId, owner)).toBe('created');
    expect(await using(workspaceId, limited())).toBe('created');
    expect(await using(otherWorkspaceId, limited())).toEqual(['content.assets[0].resource_id']);
    expect(await using(personalId, ofOrg())).toEqual(['content.assets[0].resource_id']);
  });
});
