import { beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { newAddress, type Person, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Org, Resource, TrashItem, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';

/** Tests that pages and totals of the trash contain what the reader may restore, and a restored folder its children. */

let owner: Person;
let viewer: Person;
let workspaceId: string;

beforeAll(async () => {
  const system = await standingSystem();
  owner = await signUp(system, 'Owner');
  const { data: org } = await owner.post<Org>('/orgs', { name: 'Trash' });
  const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'Trash', org_id: org.id });
  workspaceId = workspace.id;
  const email = newAddress('viewer');
  const { data } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  viewer = await signUp(system, 'Viewer', { email, invitation: tokenOf(data.invite_url) });
  await owner.post(`/workspaces/${workspaceId}/members`, { email, role: 'viewer' });
  await eventually(async () => expect((await viewer.get(`/workspaces/${workspaceId}`)).status).toBe(200));
});

const create = async (body: object) => (await owner.post<Resource>('/resources', { type: 'document', ...body })).data;
const trashOf = (by: Person, query = '') => by.get<List<TrashItem>>(`/workspaces/${workspaceId}/trash?limit=2${query}`);

test('the trash of a person with few rights to write has full pages and their total', async () => {
  const mine: string[] = [];
  for (let i = 0; i < 9; i++) {
    const { id } = await create({ name: `D${i}`, workspace_id: workspaceId });
    if (i % 3 === 0) {
      const granted = await owner.post(`/resources/${id}/permissions`, {
        principal_id: viewer.user.id,
        role: 'editor',
      });
      expect(granted.status).toBe(201);
      mine.push(id);
    }
    expect((await owner.del(`/resources/${id}`)).status).toBe(200);
  }
  const first = await trashOf(viewer);
  expect([first.data.items.length, first.page.total, first.page.has_more]).toEqual([2, 3, true]);
  const second = await trashOf(viewer, `&cursor=${first.page.next_cursor}`);
  expect([second.data.items.length, second.page.has_more]).toEqual([1, false]);
  const seen = [...first.data.items, ...second.data.items].map(({ id }) => id);
  expect(seen.sort()).toEqual(mine.sort());
  expect((await trashOf(owner)).page.total).toBe(9);
});

test('the response to a restore counts the restored children', async () => {
  const folder = await create({ type: 'folder', name: 'F', workspace_id: workspaceId });
  for (let i = 0; i < 3; i++) await create({ name: `C${i}`, parent_id: folder.id });
  await owner.del(`/resources/${(await create({ name: 'gone before', parent_id: folder.id })).id}`);
  await owner.del(`/resources/${folder.id}`);
  const { data } = await owner.post<{ resource: Resource & { child_count: number; has_children: boolean } }>(
    `/resources/${folder.id}/restore`,
  );
  expect(data.resource).toMatchObject({ child_count: 3, has_children: true });
  expect((await owner.get<{ child_count: number }>(`/resources/${folder.id}`)).data.child_count).toBe(3);
});

test('facets are null unless they are requested, and each requested one is present', async () => {
  const body = { query: 'nothingisfoundbythis', mode: 'keyword', workspace_ids: [workspaceId] };
  expect((await owner.post<{ facets: unknown }>('/search', body)).data.facets).toBeNull();
  const asked = await owner.post<{ facets: unknown }>('/search', { ...body, facets: ['type', 'tag'] });
  expect(asked.data.facets).toEqual({ type: { values: [] }, tag: { values: [] } });
});

test('an empty list of ids, or null, is refused and deletes nothing', async () => {
  const { id } = await create({ name: 'Kept', workspace_id: workspaceId });
  await owner.del(`/resources/${id}`);
  const trash = `/workspaces/${workspaceId}/trash`;
  const empty = { resource_ids: [] };
  const none = { resource_ids: null };
  for (const refused of [
    await owner.del(`${trash}?resource_ids=`),
    await owner.send('DELETE', trash, empty),
    await owner.send('DELETE', trash, none),
  ]) {
    expect([refused.status, refused.error.code, refused.error.param]).toEqual([400, 'invalid_value', 'resource_ids']);
  }
  const { data } = await owner.get<List<TrashItem>>(`${trash}?q=Kept`);
  expect(data.items.map((item) => item.id)).toEqual([id]);
});
