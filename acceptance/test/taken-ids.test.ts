import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import type { Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/**
 * Tests that external ids stay unique: a move to a workspace with a conflicting one is refused, and what is restored
 * loses one that was taken since, for any size of the subtree.
 */

const INLINE = 10;

let system: OwnSystem;
let by: Api;

beforeAll(async () => {
  system = await startSystem({ COMMONPLACE_INLINE_SUBTREE: String(INLINE) });
  by = api(system, system.owner.apiKey);
});
afterAll(() => system?.stop());

const newWorkspace = async () => (await by.post<Workspace>('/workspaces', { name: 'Moves' })).data.id;
const newDocument = async (fields: object) =>
  (await by.post<Resource>('/resources', { type: 'document', name: 'D', ...fields })).data.id;

async function subtree(children: number) {
  const [from, to] = [await newWorkspace(), await newWorkspace()];
  const { data: head } = await by.post<Resource>('/resources', { type: 'folder', name: 'F', workspace_id: from });
  for (let i = 0; i < children; i++) await newDocument({ parent_id: head.id, external_id: `id-${i}` });
  return { head: head.id, to };
}

test.each([
  ['small', 3],
  ['large', INLINE * 2],
])(
  'of a %s subtree',
  async (_, children) => {
    const { head, to } = await subtree(children);
    const holder = await newDocument({ workspace_id: to, external_id: 'id-2' });
    const refused = await by.patch<Resource>(`/resources/${head}`, { workspace_id: to });
    expect(refused.status).toBe(409);
    expect(refused.error).toMatchObject({ code: 'external_id_taken', details: { external_id: 'id-2' } });
    expect(refused.text).not.toContain('externalKey');
    expect((await by.del(`/resources/${holder}`)).status).toBe(200);
    const moved = await by.patch<Resource>(`/resources/${head}`, { workspace_id: to });
    expect(moved.status).toBe(200);
    const all = `/workspaces/${to}/resources?external_id=`;
    await eventually(async () => {
      for (let i = 0; i < children; i++) expect((await by.get(`${all}id-${i}`)).page.total).toBe(1);
    }, 60_000);
  },
  120_000,
);

test.each([
  ['small', 3],
  ['large', INLINE * 2],
])(
  'a restored %s subtree is without an external id that was taken since',
  async (_, children) => {
    const workspace = await newWorkspace();
    const { data: head } = await by.post<Resource>('/resources', {
      ...{ type: 'folder', name: 'F', workspace_id: workspace, external_id: 'head' },
    });
    const inside: string[] = [];
    for (let i = 0; i < children; i++) inside.push(await newDocument({ parent_id: head.id, external_id: `id-${i}` }));
    expect((await by.del(`/resources/${head.id}`)).status).toBe(200);
    const all = `/workspaces/${workspace}/resources`;
    await eventually(async () => expect((await by.get(`${all}?recursive=true`)).page.total).toBe(0), 60_000);
    for (const id of ['head', 'id-2']) await newDocument({ workspace_id: workspace, external_id: id });
    const restored = await by.post<{ resource: Resource }>(`/resources/${head.id}/restore`);
    expect([restored.status, restored.data.resource.external_id]).toEqual([200, null]);
    const message = expect.stringMatching(/ids head, id-2:/);
    expect(restored.body.warnings).toEqual([{ code: 'external_id_cleared', message }]);
    await eventually(async () => {
      for (let i = 0; i < children; i++) {
        expect((await by.get(`${all}?external_id=id-${i}`)).page.total).toBe(1);
        const { data } = await by.get<Resource>(`/resources/${inside[i]}`);
        expect(data.external_id).toBe(i === 2 ? null : `id-${i}`);
      }
    }, 60_000);
  },
  120_000,
);

test('a resource that lost its external id to another can be moved within its workspace', async () => {
  const workspaceId = await newWorkspace();
  const loser = await newDocument({ workspace_id: workspaceId, external_id: 'one' });
  await by.del(`/resources/${loser}`);
  await newDocument({ workspace_id: workspaceId, external_id: 'one' });
  expect((await by.post(`/resources/${loser}/restore`)).status).toBe(200);
  const { data: folder } = await by.post<Resource>('/resources', {
    type: 'folder',
    name: 'F',
    workspace_id: workspaceId,
  });
  expect((await by.patch(`/resources/${loser}`, { parent_id: folder.id })).status).toBe(200);
});
