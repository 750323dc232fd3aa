import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type FileLink, newFile } from '../src/files.js';
import { newAddress, type Person, signUp, tokenOf } from '../src/people.js';
import type { Content, Fault, List, Member, Org, Resource, Tag, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface Line {
  readonly type: string;
  readonly name: string;
  readonly icon: string | null;
  readonly children: readonly Line[];
}

interface Template {
  readonly id: string;
  readonly name: string;
  readonly scope: string;
  readonly org_id: string | null;
  readonly resource_count: number;
  readonly preview_tree: readonly Line[];
  readonly tree?: readonly Line[];
  readonly status: string;
  readonly created_by: { readonly id: string } | null;
}

interface Made extends Workspace {
  readonly template_id: string | null;
  readonly template_status: string | null;
}

let system: System;
let boss: Person;

beforeAll(async () => {
  system = await standingSystem();
  boss = await signUp(system, 'Boss');
});

const newWorkspace = async (fields: object = {}): Promise<Workspace> =>
  (await boss.post<Workspace>('/workspaces', { name: 'Source', ...fields })).data;

async function create(workspace: Workspace, fields: object, by: Api = boss): Promise<Resource> {
  return (await by.post<Resource>('/resources', { type: 'folder', workspace_id: workspace.id, ...fields })).data;
}

async function all(workspace: Workspace, query = ''): Promise<readonly Resource[]> {
  const found: Resource[] = [];
  for (let offset = 0; ; offset += 200) {
    const path = `/workspaces/${workspace.id}/resources?limit=200&offset=${offset}${query}`;
    const { items } = (await boss.get<List<Resource>>(path)).data;
    found.push(...items);
    if (items.length < 200) return found;
  }
}

const text = async (id: string) => (await boss.get<Content>(`/resources/${id}/content`)).data.content;
const named = (list: readonly Resource[], name: string) => list.find((one) => one.name === name) as Resource;
const template = async (body: object, by: Api = boss) => by.post<Template>('/workspace-templates', body);
const use = async (templateId: string, by: Api = boss, more: object = {}) =>
  by.post<Made>('/workspaces', { name: 'Made', template_id: templateId, ...more });

describe('a template of a workspace', () => {
  test('contains everything in it, and a workspace created from it is equal', async () => {
    const source = await newWorkspace();
    const folder = await create(source, { name: 'Guides', icon: '📘', description: 'How to' });
    const page = await create(source, { type: 'document', name: 'Page', parent_id: folder.id, content: '# Page\n' });
    const bytes = Buffer.from('Bytes of a template.');
    const file = (await newFile(boss, { name: 'a.txt', parent_id: page.id }, bytes)).data.resource;
    const links = `[Page](resource:${page.id}) ![A](resource:${file.id})\n`;
    await create(source, { type: 'document', name: 'Start', content: links, tags: ['first'], external_id: 'x-1' });
    const columns = [{ id: 'name', name: 'Name' }];
    const rows = [{ id: 'r1', cells: { name: 'Acme' } }];
    await create(source, { type: 'table', name: 'Leads', columns, rows });
    await create(source, { type: 'document', name: 'Gone', content: 'x' }).then(({ id }) =>
      boss.del(`/resources/${id}`),
    );

    const made = await template({ name: 'Like it', source_workspace_id: source.id, category: 'Team' });
    expect(made.status).toBe(201);
    expect(made.data).toMatchObject({ scope: 'personal', org_id: null, resource_count: 5, status: 'ready' });
    expect(made.data.preview_tree.map(({ name }) => name)).toEqual(['Guides', 'Start', 'Leads']);
    expect(made.data.preview_tree[0]?.children).toEqual([{ type: 'document', name: 'Page', icon: null, children: [] }]);
    expect(made.data.tree).toBeUndefined();
    const whole = (await boss.get<Template>(`/workspace-templates/${made.data.id}?include=tree`)).data;
    expect(whole.tree?.[0]).toMatchObject({ name: 'Guides', icon: '📘', description: 'How to' });

    // Later changes of the workspace do not affect the template.
    await boss.patch(`/resources/${page.id}/content`, { content: 'changed' });
    const { status, data: copy } = await use(made.data.id);
    expect(status).toBe(201);
    expect(copy).toMatchObject({ template_id: made.data.id, template_status: 'completed', counts: { resources: 5 } });
    const copies = await all(copy);
    expect(copies.map(({ name }) => name).sort()).toEqual(['Guides', 'Leads', 'Page', 'Start']);
    expect(named(copies, 'Page').parent_id).toBe(named(copies, 'Guides').id);
    expect(await text(named(copies, 'Page').id)).toBe('# Page\n');
    const [attached] = await all(copy, '&type=file');
    const start = await text(named(copies, 'Start').id);
    expect(start).toBe(links.replace(page.id, named(copies, 'Page').id).replace(file.id, attached?.id ?? ''));
    const tags = (await boss.get<List<Tag>>(`/workspaces/${copy.id}/tags`)).data.items;
    expect(named(copies, 'Start')).toMatchObject({ tags: tags.map(({ id }) => id), external_id: null });
    expect(tags.map(({ name }) => name)).toEqual(['first']);
    const table = (await boss.get<{ rows: { cells: object }[] }>(`/resources/${named(copies, 'Leads').id}/content`))
      .data;
    expect(table.rows.map(({ cells }) => cells)).toEqual([{ name: 'Acme' }]);

    expect((await boss.del(`/workspace-templates/${made.data.id}`)).status).toBe(200);
    expect((await use(made.data.id)).status).toBe(404);
    expect((await boss.get(`/workspace-templates/${made.data.id}`)).status).toBe(404);
    const link = (await boss.get<FileLink>(`/resources/${attached?.id}/file`)).data;
    expect(await (await fetch(link.download_url)).text()).toBe(bytes.toString());
    expect(await text(named(copies, 'Page').id)).toBe('# Page\n');
  });

  test('without content contains only the structure', async () => {
    const source = await newWorkspace();
    const page = await create(source, { type: 'document', name: 'Page', content: 'Words' });
    await newFile(boss, { name: 'a.txt', parent_id: page.id }, Buffer.from('x'));
    await create(source, { type: 'table', name: 'Leads', columns: [{ id: 'a', name: 'A' }], rows: [['x']] });
    const { data } = await template({ name: 'Form', source_workspace_id: source.id, include_content: false });
    expect(data.resource_count).toBe(2);
    const copies = await all((await use(data.id)).data);
    expect(await text(named(copies, 'Page').id)).toBe('');
    const table = (
      await boss.get<{ columns: { id: string }[]; rows: unknown[] }>(`/resources/${named(copies, 'Leads').id}/content`)
    ).data;
    expect([table.columns.map(({ id }) => id), table.rows]).toEqual([['a'], []]);
  });

  test('of some of its resources contains these and everything below them', async () => {
    const source = await newWorkspace();
    const one = await create(source, { name: 'One' });
    await create(source, { name: 'Below', parent_id: one.id });
    await create(source, { name: 'Two' });
    const { data } = await template({ name: 'Part', root_resource_ids: [one.id] });
    expect(data.resource_count).toBe(2);
    const foreign = await create(await newWorkspace(), { name: 'Elsewhere' });
    const wrong = await template({ name: 'Part', source_workspace_id: source.id, root_resource_ids: [foreign.id] });
    expect([wrong.status, wrong.error.param]).toEqual([400, 'root_resource_ids[0]']);
    const none = await template({ name: 'All', source_workspace_id: source.id, root_resource_ids: [] });
    expect([none.status, none.error.param]).toEqual([400, 'root_resource_ids']);
  });

  test('leaves out what is restricted, unless that is named', async () => {
    const source = await newWorkspace();
    const open = (await create(source, { name: 'Open' })).id;
    const hidden = (await create(source, { name: 'Hidden', parent_id: open, access_mode: 'restricted' })).id;
    await create(source, { name: 'Below', parent_id: hidden });
    const made = async (body: object) => {
      const { data, body: whole } = await template({ name: 'Partly', ...body });
      return [data.resource_count, (whole.warnings ?? []).map(({ code }) => code)];
    };
    expect(await made({ source_workspace_id: source.id })).toEqual([1, ['restricted_left_out']]);
    expect(await made({ root_resource_ids: [open] })).toEqual([1, ['restricted_left_out']]);
    expect(await made({ root_resource_ids: [hidden] })).toEqual([2, []]);
    expect(await made({ root_resource_ids: [open, hidden] })).toEqual([3, []]);
  });

  test('of more than 200 resources follows after the response, and so does a workspace created from it', async () => {
    const source = await newWorkspace();
    const inside = await create(source, { name: 'Inside' });
    for (let at = 0; at < 240; at += 20) {
      const one = (i: number) => ({ type: 'document', name: `Page ${at + i}`, parent_id: inside.id, content: 'x' });
      await Promise.all(Array.from({ length: 20 }, (_, i) => create(source, one(i))));
    }
    const made = await template({ name: 'Large', source_workspace_id: source.id });
    expect([made.status, made.data.resource_count]).toEqual([202, 241]);
    const path = `/workspace-templates/${made.data.id}`;
    await eventually(async () => expect((await boss.get<Template>(path)).data.status).toBe('ready'), 30_000);
    const { data: copy } = await use(made.data.id);
    expect(copy.template_status).toBe('running');
    expect((await boss.del(path)).status).toBe(200);
    await eventually(
      async () => expect((await boss.get<Made>(`/workspaces/${copy.id}`)).data.template_status).toBe('completed'),
      30_000,
    );
    expect(new Set((await all(copy)).map(({ name }) => name)).size).toBe(241);
  });
});

describe('seeing and using templates', () => {
  let org: Org;
  let member: Person;
  let source: Workspace;

  beforeAll(async () => {
    org = (await boss.post<Org>('/orgs', { name: 'Acme' })).data;
    const email = newAddress('member');
    const { data: invited } = await boss.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
    member = await signUp(system, 'Member', { email, invitation: tokenOf(invited.invite_url) });
    source = await newWorkspace({ org_id: org.id });
    await boss.post(`/workspaces/${source.id}/members`, { user_id: member.user.id, role: 'editor' });
  });

  test('resources that its author may not read are not in it', async () => {
    await create(source, { type: 'document', name: 'Open', content: 'x' });
    const secret = await create(source, { name: 'Secret', access_mode: 'restricted' });
    await create(source, { type: 'document', name: 'Plan', parent_id: secret.id, content: 'y' });
    const { data } = await template({ name: 'Mine', source_workspace_id: source.id }, member);
    expect([data.resource_count, data.preview_tree.map(({ name }) => name)]).toEqual([1, ['Open']]);
    expect(data).toMatchObject({ scope: 'personal', org_id: org.id });
    expect((await boss.get(`/workspace-templates/${data.id}`)).status).toBe(404);
    expect((await use(data.id, member)).status).toBe(403);
    const copy = await use(data.id, member, { org_id: org.id });
    expect(copy.data.template_status).toBe('completed');
  });

  test('one for the Org is created by its administrators, and for all of its members', async () => {
    const body = { name: 'For all', source_workspace_id: source.id, scope: 'org' };
    const refused = await template(body, member);
    expect([refused.status, refused.error.code]).toEqual([403, 'org_admin_required']);
    const { data } = await template(body);
    expect(data).toMatchObject({ scope: 'org', org_id: org.id });
    const list = async (by: Api, query: string) =>
      (await by.get<List<Template>>(`/workspace-templates?${query}`)).data.items.map(({ id }) => id);
    expect(await list(member, 'scope=org')).toContain(data.id);
    expect(await list(member, 'scope=personal')).not.toContain(data.id);
    expect((await member.del(`/workspace-templates/${data.id}`)).status).toBe(403);
    const stranger = await signUp(system, 'Stranger');
    expect((await stranger.get(`/workspace-templates/${data.id}`)).status).toBe(404);
    expect((await use(data.id, stranger)).status).toBe(404);
    const personal = await template({ name: 'x', tree: [{ type: 'folder', name: 'x' }], scope: 'org' });
    expect([personal.status, personal.error.param]).toEqual([400, 'scope']);
  });

  test('a key of one tenant does not reach those of another', async () => {
    const body = { name: 'Org key', org_id: org.id, scopes: ['workspace_template:read', 'workspace_template:write'] };
    const { data } = await boss.post<{ key: string }>('/api-keys', body);
    const key = api(system, data.key);
    const tree = [{ type: 'folder', name: 'x' }];
    const own = (await template({ name: 'Mine', tree })).data;
    const beyond = await key.get(`/workspace-templates/${own.id}`);
    expect([beyond.status, beyond.error.code]).toEqual([403, 'tenant_boundary']);
    expect((await template({ name: 'By key', tree, scope: 'org' }, key)).data.org_id).toBe(org.id);
  });
});

describe('bundled templates', () => {
  test('are listed first, can be used, and cannot be deleted', async () => {
    const { items } = (await boss.get<List<Template>>('/workspace-templates?scope=system')).data;
    expect(items.length).toBeGreaterThanOrEqual(5);
    for (const one of items) {
      expect(one).toMatchObject({ scope: 'system', status: 'ready', created_by: null });
      const gone = await boss.del(`/workspace-templates/${one.id}`);
      expect([gone.status, gone.error.code]).toEqual([403, 'insufficient_role']);
      const made = await use(one.id);
      expect([made.status, made.data.template_status]).toEqual([201, 'completed']);
      const resources = await all(made.data);
      expect(resources).toHaveLength(one.resource_count);
      for (const { id, type } of resources) {
        if (type !== 'document') continue;
        const content = await text(id);
        expect(content).not.toContain('resource:@');
        const ids = resources.map((other) => other.id);
        for (const [, link] of String(content).matchAll(/resource:([0-9a-f-]{36})/g)) expect(ids).toContain(link);
      }
    }
    const found = (await boss.get<List<Template>>('/workspace-templates?q=HAND')).data.items;
    expect(found.map(({ name }) => name)).toEqual(['Team handbook']);
  });
});

describe('a template of a tree', () => {
  test('is created from the content of the request', async () => {
    const tree = [
      {
        type: 'folder',
        name: 'Folder',
        children: [{ type: 'document', name: 'Page', content: 'Words', tags: ['t'], metadata: { a: 1 } }],
      },
      { type: 'table', name: 'Table', columns: [{ id: 'a', name: 'A' }], rows: [['x']] },
    ];
    const made = await template({ name: 'Tree', tree });
    expect([made.status, made.data.resource_count]).toEqual([201, 3]);
    const copies = await all((await use(made.data.id)).data);
    expect(copies.map(({ name }) => name)).toEqual(['Folder', 'Table', 'Page'].sort((a, b) => order(copies, a, b)));
    expect(named(copies, 'Page')).toMatchObject({ parent_id: named(copies, 'Folder').id, metadata: { a: 1 } });
    expect(await text(named(copies, 'Page').id)).toBe('Words');
  });

  test('is refused with all its errors', async () => {
    const tree = [
      { type: 'file', name: 'a' },
      { type: 'document', extra: 1, children: [{ type: 'artifact', name: 'b', children: [{ name: 'c' }] }] },
      { type: 'table', name: 'd', columns: [] },
    ];
    const before = (await boss.get<List<Template>>('/workspace-templates?scope=personal&limit=200')).data.items.length;
    const { status, error } = await template({ name: 'Bad', tree });
    expect(status).toBe(400);
    const faults = (error.details as readonly Fault[]).map(({ param, code }) => `${param} ${code}`);
    expect(faults).toEqual([
      'tree[0].type use_files_endpoint',
      'tree[1].extra unknown_field',
      'tree[1].name missing_field',
      'tree[1].children[0].children parent_not_container',
      'tree[1].children[0].children[0].type missing_field',
    ]);
    const empty = await template({ name: 'Bad', tree: [{ type: 'table', name: 'd', columns: [], rows: [] }] });
    expect([empty.status, empty.error.param]).toEqual([400, 'tree[0].columns']);
    const neither = await template({ name: 'Bad' });
    expect([neither.status, neither.error.param]).toEqual([400, 'source_workspace_id']);
    const after = (await boss.get<List<Template>>('/workspace-templates?scope=personal&limit=200')).data.items.length;
    expect(after).toBe(before);
  });
});

function order(list: readonly Resource[], a: string, b: string): number {
  return list.findIndex(({ name }) => name === a) - list.findIndex(({ name }) => name === b);
}
