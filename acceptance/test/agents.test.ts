import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Agent, newAgent, putSkills, putWorkspaces, type Skill } from '../src/agents.js';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newKey } from '../src/people.js';
import type { List, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';
import { type Caller, createWorld, type World } from '../src/world.js';

// Tests agents as records. Their runs are tested in agent-runs.test.ts.

let system: System;
let world: World;
/** A member of the Org and editor of the closed workspace, who owns the agents. */
let maker: Api;
/** A member of the Org who is in none of its workspaces. */
let member: Api;

beforeAll(async () => {
  system = await standingSystem();
  world = await createWorld(system);
  maker = callerNamed('workspace editor').api;
  member = (world.callers.find(({ name }) => name === 'org member') as Caller).api;
}, 120_000);

const callerNamed = (name: string) => world.callers.find((caller) => caller.name === name) as Caller;
const inOrg = (body: object = {}) => ({ org_id: world.closed.org.id, ...body });
const placeId = () => world.closed.workspace.id;
const read = async (by: Api, id: string, query = '') => (await by.get<Agent>(`/agents/${id}${query}`)).data;

describe('an agent', () => {
  test('has defaults, and is changed field by field', async () => {
    const agent = await newAgent(maker);
    expect(agent).toMatchObject({
      ...{ org_id: null, description: '', instructions: '', model: null, temperature: null, visibility: 'private' },
      ...{ status: 'active', tools: ['search', 'read'], memory_mode: 'off', auto_run: false, on_unknown: 'ask' },
      ...{ skill_count: 0, mcp_server_count: 0, workspace_count: 0, last_run_at: null, version: 1, is_editable: true },
      limits: { max_steps: null, max_minutes: null, max_credits_per_run: null },
      approval_policy: {
        mode: 'risky',
        rules: [],
        approvers: ['initiator'],
        timeout_seconds: 86_400,
        four_eyes: false,
      },
    });
    const path = `/agents/${agent.id}`;
    const limits = { max_steps: 5, max_credits_per_run: '1.5' };
    await maker.patch(path, { limits, approval_policy: { mode: 'always', timeout_seconds: 60 } });
    await maker.patch(path, {
      limits: { max_steps: null },
      approval_policy: { approvers: ['owner'] },
      temperature: 0.5,
    });
    await maker.patch(path, { temperature: null, tools: ['read', 'search', 'comment'], name: 'Other' });
    expect(await read(maker, agent.id)).toMatchObject({
      ...{ name: 'Other', temperature: null, tools: ['search', 'read', 'comment'], version: 4 },
      limits: { max_steps: null, max_minutes: null, max_credits_per_run: '1.5' },
      approval_policy: { mode: 'always', approvers: ['owner'], timeout_seconds: 60 },
    });
  });

  test.each([
    ['no name', { name: '' }, 'name'],
    ['a model that is not there', { model: 'none' }, 'model'],
    ['credits that are no number', { limits: { max_credits_per_run: 'many' } }, 'limits.max_credits_per_run'],
    ['approvers that are nobody', { approval_policy: { approvers: ['everybody'] } }, 'approval_policy.approvers'],
    ['the visibility of an Org it is not in', { visibility: 'org' }, 'visibility'],
    ['a file that is none', { avatar_file_id: '00000000-0000-4000-8000-00000000dead' }, 'avatar_file_id'],
  ])('is not created with %s', async (_, body, param) => {
    const { status, error } = await maker.post('/agents', { name: 'Helper', ...body });
    expect([400, 404]).toContain(status);
    expect(error.param).toBe(param);
  });

  test('has an image that people who may read its file can see', async () => {
    const file = { name: 'Face.png', workspace_id: placeId(), content_base64: PIXEL };
    const { data } = await maker.post<{ resource: Resource }>('/files', file);
    const body = inOrg({ avatar_file_id: data.resource.id, visibility: 'org' });
    const agent = await newAgent(maker, body);
    expect(agent.avatar_url).toMatch(/^https?:/);
    expect((await fetch(agent.avatar_url as string)).status).toBe(200);
    expect((await read(member, agent.id)).avatar_url).toBeNull();
    const { key } = await newKey(world.boss, ['agent:read'], inOrg());
    expect((await read(api(system, key), agent.id)).avatar_url).toBeNull();
  });

  test('shows the lists that were asked for, empty or not, and has pages of them', async () => {
    const agent = await newAgent(maker);
    expect(await read(maker, agent.id, '?include=skills,mcp,workspaces')).toMatchObject({
      ...{ skills: [], mcp: [], workspaces: [] },
    });
    expect(await read(maker, agent.id)).not.toHaveProperty('skills');
    for (const list of ['skills', 'mcp', 'workspaces']) {
      const path = `/agents/${agent.id}/${list}`;
      const { data, page } = await maker.get<List<unknown>>(`${path}?limit=1`);
      expect([data.items, page]).toMatchObject([[], { limit: 1, total: 0, has_more: false }]);
      for (const limit of ['0', 'x']) {
        expect((await maker.get(`${path}?limit=${limit}`)).error.code).toBe('invalid_pagination');
      }
    }
    expect((await maker.get('/agents?sort=zzz')).error).toMatchObject({ code: 'invalid_value', param: 'sort' });
  });

  test('cannot be created by guests of the Org, nor in another Org', async () => {
    const guest = callerNamed('org guest').api;
    expect((await guest.post('/agents', inOrg({ name: 'Helper' }))).error.code).toBe('insufficient_role');
    const { status, error } = await world.stranger.post('/agents', inOrg({ name: 'Helper' }));
    expect([status, error.param]).toEqual([404, 'org_id']);
    const { key } = await newKey(maker, ['agent:write']);
    expect((await api(system, key).post('/agents', inOrg({ name: 'Helper' }))).error.code).toBe('tenant_boundary');
  });

  test('that is deleted no longer exists, and neither do its grants', async () => {
    const agent = await newAgent(world.boss, inOrg({ visibility: 'org' }), [placeId()]);
    const document = await world.closed.newDocument();
    const grant = { principal_type: 'agent', principal_id: agent.id, role: 'viewer' };
    expect((await world.boss.post(`/resources/${document.id}/permissions`, grant)).status).toBe(201);
    const granted = async () => {
      const path = `/resources/${document.id}/permissions?include_inherited=false`;
      const { data } = await world.boss.get<List<{ principal: { id: string; name: string } }>>(path);
      return data.items.map(({ principal }) => principal);
    };
    expect(await granted()).toContainEqual(expect.objectContaining({ id: agent.id, name: 'Helper' }));
    expect((await world.boss.del(`/agents/${agent.id}`)).data).toEqual({ id: agent.id, deleted: true });
    expect((await world.boss.get(`/agents/${agent.id}`)).status).toBe(404);
    expect((await world.boss.del(`/agents/${agent.id}`)).status).toBe(404);
    expect((await world.boss.post(`/resources/${document.id}/permissions`, grant)).status).toBe(404);
    await eventually(async () => expect((await granted()).map(({ id }) => id)).not.toContain(agent.id));
  });
});

/** A PNG of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('who can see an agent', () => {
  const outcomes: readonly (readonly [visibility: string, who: string, sees: boolean])[] = [
    ...(['private', 'workspace', 'org'] as const).flatMap((visibility) => [
      [visibility, 'boss', true] as const,
      [visibility, 'org admin', true] as const,
      [visibility, 'workspace viewer', visibility !== 'private'] as const,
      [visibility, 'workspace guest', visibility === 'org'] as const,
      [visibility, 'org member', visibility === 'org'] as const,
      [visibility, 'org guest', false] as const,
    ]),
  ];

  test.each(outcomes)('of visibility %s: %s, %p', async (visibility, who, sees) => {
    const agent = await newAgent(maker, inOrg({ visibility, instructions: 'Be brief.' }), [placeId()]);
    const by = callerNamed(who).api;
    const { status, body } = await by.get<Agent>(`/agents/${agent.id}`);
    expect(status).toBe(sees ? 200 : 404);
    if (sees) expect(body.data).toMatchObject({ instructions: null, is_editable: false });
    const { data: list } = await by.get<List<Agent>>(`/agents?workspace_id=${placeId()}&limit=200`);
    expect(list.items.some(({ id }) => id === agent.id)).toBe(sees);
    for (const path of ['workspaces', 'pins', 'skills']) {
      expect((await by.get(`/agents/${agent.id}/${path}`)).status).toBe(sees ? 200 : 404);
    }
    expect((await world.stranger.get(`/agents/${agent.id}`)).status).toBe(404);
    await maker.del(`/agents/${agent.id}`);
  });

  test('can be changed only by its owner, and its status by administrators of the Org', async () => {
    const agent = await newAgent(maker, inOrg({ visibility: 'org' }), [placeId()]);
    const path = `/agents/${agent.id}`;
    const admin = callerNamed('org admin').api;
    for (const by of [member, admin]) {
      const replies = [
        await by.patch(path, { name: 'Mine' }),
        await by.patch(path, { status: 'paused', name: 'Mine' }),
        await by.del(path),
        await putSkills(by, agent.id, []),
        await by.post(`${path}/pins`, { resource_id: world.closed.document.id }),
        await by.get(`${path}?include=versions`),
      ];
      expect(replies.map(({ status, error }) => [status, error?.code])).toEqual(
        replies.map(() => [403, 'insufficient_role']),
      );
    }
    expect((await member.patch(path, { status: 'paused' })).status).toBe(403);
    expect((await admin.patch<Agent>(path, { status: 'paused' })).data.status).toBe('paused');
    expect((await admin.patch<Agent>(path, { status: 'active' })).data.status).toBe('active');
  });

  test('a key that is limited to workspaces reaches only the agents there', async () => {
    const here = await newAgent(world.boss, inOrg(), [placeId()]);
    const elsewhere = await newAgent(world.boss, inOrg(), [world.open.workspace.id]);
    const { key } = await newKey(world.boss, ['agent:read'], inOrg({ workspace_ids: [placeId()] }));
    const limited = api(system, key);
    expect((await limited.get(`/agents/${here.id}`)).status).toBe(200);
    expect((await limited.get(`/agents/${elsewhere.id}`)).error.code).toBe('tenant_boundary');
    const { data } = await limited.get<List<Agent>>('/agents?limit=200');
    const ids = data.items.map(({ id }) => id);
    expect([ids.includes(here.id), ids.includes(elsewhere.id)]).toEqual([true, false]);
  });

  test('is found by words, state, visibility and Org', async () => {
    const agent = await newAgent(maker, inOrg({ name: 'Zebra finder', description: 'STRIPES', visibility: 'org' }));
    const found = async (query: string) =>
      (await maker.get<List<Agent>>(`/agents?limit=200&${query}`)).data.items.some(({ id }) => id === agent.id);
    for (const query of ['q=zebra', 'q=stripes', 'status=active', 'visibility=org', `org_id=${world.closed.org.id}`]) {
      expect([query, await found(query)]).toEqual([query, true]);
    }
    for (const query of ['q=giraffe', 'status=paused', 'visibility=private', `org_id=${placeId()}`]) {
      expect([query, await found(query)]).toEqual([query, false]);
    }
  });
});

describe('versions', () => {
  test('are created with each change of what a run says and calls, and are restored as a new one', async () => {
    const agent = await newAgent(maker, { instructions: 'First.' });
    const path = `/agents/${agent.id}`;
    await maker.patch(path, { description: 'No version.' });
    await maker.patch(path, { instructions: 'Second.', temperature: 1, tools: [] });
    await putSkills(maker, agent.id, [{ name: 'notes', description: 'Writes notes.', content: 'Write.' }]);
    await maker.patch(path, { instructions: 'Second.' });
    const { versions = [] } = await read(maker, agent.id, '?include=versions');
    expect(versions.map(({ version, changed_fields }) => [version, changed_fields])).toEqual([
      [4, ['skills']],
      [3, ['instructions', 'temperature', 'tools']],
      [1, []],
    ]);
    const { data } = await maker.patch<Agent>(path, { restore_version: 1 });
    expect(data).toMatchObject({
      instructions: 'First.',
      temperature: null,
      tools: ['search', 'read'],
      skill_count: 0,
    });
    const again = await maker.patch<Agent>(path, { restore_version: 4, description: 'Back.' });
    expect(again.data).toMatchObject({ instructions: 'Second.', skill_count: 1, description: 'Back.' });
    const { items } = (await maker.get<List<Skill>>(`${path}/skills?include=content`)).data;
    expect(items.map(({ name, content }) => [name, content])).toEqual([['notes', 'Write.']]);
    expect((await read(maker, agent.id, '?include=versions')).versions?.length).toBe(5);
  });

  test('that are not kept cannot be restored, nor together with a change of the same fields', async () => {
    const agent = await newAgent(maker);
    const path = `/agents/${agent.id}`;
    expect((await maker.patch(path, { restore_version: 7 })).error.param).toBe('restore_version');
    const both = await maker.patch(path, { restore_version: 1, instructions: 'Mine.' });
    expect(both.error).toMatchObject({ code: 'ambiguous_target', param: 'instructions' });
  });

  test('are limited to fifty, with the contents of their skills', async () => {
    const agent = await newAgent(maker);
    const path = `/agents/${agent.id}`;
    await putSkills(maker, agent.id, [{ name: 'old', description: 'Old.', content: 'Old text.' }]);
    for (let i = 0; i < 52; i++) await maker.patch(path, { instructions: `Number ${i}.` });
    const { versions = [] } = await read(maker, agent.id, '?include=versions');
    expect(versions.length).toBe(50);
    const oldest = versions.at(-1)?.version ?? 0;
    expect((await maker.patch(path, { restore_version: oldest - 1 })).status).toBe(400);
    expect((await maker.patch(path, { restore_version: oldest })).status).toBe(200);
    const { items } = (await maker.get<List<Skill>>(`${path}/skills?include=content`)).data;
    expect(items[0]?.content).toBe('Old text.');
  });
});

describe('workspaces', () => {
  const code = async (by: Api, agent: Agent, body: object) => {
    const reply = await putWorkspaces(by, agent.id, body);
    return [reply.status, reply.body.error?.code];
  };
  const roleHere = (role: string) => ({ workspaces: [{ workspace_id: placeId(), role }] });

  test('are added by the owner as a viewer, and with more rights by administrators only', async () => {
    const agent = await newAgent(maker, inOrg({ visibility: 'workspace' }), [placeId()]);
    expect(await code(maker, agent, roleHere('editor'))).toEqual([403, 'insufficient_role']);
    expect(await code(maker, agent, roleHere('admin'))).toEqual([400, 'invalid_value']);
    const admin = callerNamed('workspace admin').api;
    expect((await putWorkspaces(admin, agent.id, roleHere('editor'))).data.items).toMatchObject([{ role: 'editor' }]);
    // A role from an administrator is kept when the owner sends it back, and the owner may lower it.
    expect(await code(maker, agent, roleHere('editor'))).toEqual([200, undefined]);
    expect(await code(maker, agent, roleHere('commenter'))).toEqual([200, undefined]);
    expect(await code(maker, agent, roleHere('editor'))).toEqual([403, 'insufficient_role']);
    expect(await code(callerNamed('workspace viewer').api, agent, { workspaces: [] })).toEqual([
      403,
      'insufficient_role',
    ]);
    expect(await code(admin, agent, { workspaces: [] })).toEqual([200, undefined]);
  });

  test('that a caller cannot see are kept when they change their own', async () => {
    const own = (await maker.post<Workspace>('/workspaces', inOrg({ name: 'Own', default_role: null }))).data;
    const agent = await newAgent(maker, inOrg({ visibility: 'org' }), [own.id, placeId()]);
    const admin = callerNamed('workspace admin').api;
    expect((await admin.get<List<unknown>>(`/agents/${agent.id}/workspaces`)).data.items.length).toBe(1);
    expect((await putWorkspaces(admin, agent.id, { workspaces: [] })).data.items).toEqual([]);
    const { data } = await maker.get<List<{ workspace_id: string }>>(`/agents/${agent.id}/workspaces`);
    expect(data.items.map(({ workspace_id }) => workspace_id)).toEqual([own.id]);
  });

  test('that a header hides are kept', async () => {
    const own = (await maker.post<Workspace>('/workspaces', inOrg({ name: 'Own', default_role: null }))).data;
    const agent = await newAgent(maker, inOrg(), [own.id, placeId()]);
    const headers = { 'X-Workspace-Id': placeId() };
    const reply = await maker.send('PUT', `/agents/${agent.id}/workspaces`, { workspaces: [] }, { headers });
    expect([reply.status, reply.body.data]).toEqual([200, { items: [] }]);
    const { data } = await maker.get<List<{ workspace_id: string }>>(`/agents/${agent.id}/workspaces`);
    expect(data.items.map(({ workspace_id }) => workspace_id)).toEqual([own.id]);
  });

  test('are replaced all or none, and only by those of the agent’s tenant that the caller can see', async () => {
    const agent = await newAgent(maker, inOrg(), [placeId()]);
    const personal = (await maker.post<Workspace>('/workspaces', { name: 'Personal' })).data;
    const hidden = (await world.boss.post<Workspace>('/workspaces', inOrg({ name: 'Hidden', default_role: null })))
      .data;
    for (const [id, ...expected] of [
      [personal.id, 403, 'tenant_boundary'],
      [hidden.id, 404, 'not_found'],
    ] as const) {
      expect(await code(maker, agent, { workspace_ids: [world.open.workspace.id, id] })).toEqual(expected);
    }
    expect(await code(maker, agent, { workspace_ids: [placeId(), placeId()] })).toEqual([400, 'invalid_value']);
    const both = { workspace_ids: [placeId()], ...roleHere('commenter') };
    expect(await code(maker, agent, both)).toEqual([400, 'conflicting_alias']);
    expect((await code(maker, agent, {}))[0]).toBe(400);
    const twice = await putWorkspaces(maker, agent.id, { workspace_ids: [placeId(), placeId()] });
    expect(twice.error.param).toBe('workspace_ids[1]');
    const { workspaces } = await read(maker, agent.id, '?include=workspaces');
    expect(workspaces).toEqual([{ workspace_id: placeId(), name: 'Place', role: 'viewer' }]);
    const stale = await maker.send(
      'PUT',
      `/agents/${agent.id}/workspaces`,
      { workspaces: [] },
      { headers: { 'If-Match': '"v1"' } },
    );
    expect(stale.error.code).toBe('version_conflict');
  });

  test('that are archived accept no agent', async () => {
    const own = (await maker.post<Workspace>('/workspaces', { name: 'Old' })).data;
    await maker.post(`/workspaces/${own.id}/archive`, {});
    const agent = await newAgent(maker);
    expect(await code(maker, agent, { workspace_ids: [own.id] })).toEqual([409, 'workspace_archived']);
  });

  test('that their owner leaves lose the agent', async () => {
    const { boss } = world;
    const own = (await boss.post<Workspace>('/workspaces', inOrg({ name: 'Left', default_role: null }))).data;
    const { user } = callerNamed('workspace editor').api as unknown as { user: { id: string } };
    const { data: membership } = await boss.post<{ id: string }>(`/workspaces/${own.id}/members`, {
      user_id: user.id,
      role: 'editor',
    });
    const agent = await newAgent(maker, inOrg(), [own.id]);
    await boss.del(`/workspaces/${own.id}/members/${membership.id}`);
    await eventually(async () => {
      await boss.post(`/workspaces/${own.id}/members`, { user_id: user.id, role: 'viewer' });
      expect((await read(maker, agent.id)).workspace_count).toBe(0);
    });
  });
});

describe('pins', () => {
  test('are an ordered list, hidden from people who may not read them', async () => {
    const agent = await newAgent(world.boss, inOrg({ visibility: 'workspace' }), [placeId()]);
    const path = `/agents/${agent.id}/pins`;
    const pages = [await world.closed.newDocument(), await world.closed.newDocument()] as const;
    const secret = await world.closed.newDocument();
    await world.boss.post(`/resources/${secret.id}/permissions`, { access_mode: 'restricted' });
    const pin = (body: object) => world.boss.post<{ id: string; item: { id: string } }>(path, body);
    expect((await pin({ resource_id: pages[0].id })).status).toBe(201);
    expect((await pin({ resource_id: pages[0].id })).status).toBe(200);
    expect((await pin({ item: { type: 'resource', id: pages[1].id }, position: 0 })).status).toBe(201);
    expect((await pin({ resource_id: secret.id, position: 1 })).status).toBe(201);
    const names = async (by: Api) =>
      (await by.get<List<{ item: { id: string } }>>(path)).data.items.map(({ item }) => item.id);
    expect(await names(world.boss)).toEqual([pages[1].id, secret.id, pages[0].id]);
    expect(await names(callerNamed('workspace viewer').api)).toEqual([pages[1].id, pages[0].id]);
    const moved = await world.boss.patch<List<{ id: string; item: { id: string } }>>(path, {
      resource_id: pages[0].id,
      position: 0,
    });
    expect(moved.data.items.map(({ item }) => item.id)).toEqual([pages[0].id, pages[1].id, secret.id]);
    const order = moved.data.items.map(({ id }) => id).reverse();
    const { data: sorted } = await world.boss.patch<List<{ id: string }>>(path, { order });
    expect(sorted.items.map(({ id }) => id)).toEqual(order);
    expect((await world.boss.patch(path, { order: order.slice(1) })).status).toBe(400);
    expect((await world.boss.del(`${path}?resource_id=${secret.id}`)).status).toBe(200);
    expect((await world.boss.del(`${path}?resource_id=${secret.id}`)).status).toBe(404);
  });

  test('refer only to what the caller may read, and disappear with purged resources', async () => {
    const agent = await newAgent(maker);
    const path = `/agents/${agent.id}/pins`;
    const { id } = await world.open.newDocument();
    const stranger = await newAgent(world.stranger);
    expect((await world.stranger.post(`/agents/${stranger.id}/pins`, { resource_id: id })).error.param).toBe(
      'resource_id',
    );
    const own = (await maker.post<Workspace>('/workspaces', { name: 'Own' })).data;
    const body = { workspace_id: own.id, type: 'document', name: 'Gone' };
    const gone = (await maker.post<Resource>('/resources', body)).data;
    const { data } = await maker.post<{ version: number }>(path, { resource_id: gone.id });
    await maker.del(`/resources/${gone.id}`);
    await maker.del(`/workspaces/${own.id}/trash`);
    await eventually(async () => {
      const again = await maker.post<{ version: number }>(path, { resource_id: gone.id });
      expect(again.status).toBe(404);
    });
    expect(data.version).toBe(1);
  });
});

describe('skills', () => {
  const SKILL_MD = [
    '---',
    'name: release-notes',
    'description: >',
    '  Writes release notes',
    '  from changes.',
    'license: MIT',
    'allowed-tools: search read',
    'compatibility: any',
    'metadata:',
    '  author: somebody',
    '---',
    '# Notes',
    '',
    'List what users can see.',
    '',
  ].join('\n');

  test('have the open form of SKILL.md, with files, and keep their ids', async () => {
    const agent = await newAgent(maker);
    const files = [{ path: 'references/style.md', content: 'Short.' }];
    const { data, status } = await putSkills(maker, agent.id, [{ skill_md: SKILL_MD, files }]);
    expect(status).toBe(200);
    const [made] = data.items as [Skill];
    expect(made).toMatchObject({
      ...{ name: 'release-notes', description: 'Writes release notes from changes.', license: 'MIT', content: null },
      ...{
        allowed_tools: ['search', 'read'],
        metadata: { author: 'somebody', compatibility: 'any' },
        source: 'inline',
      },
      ...{ is_enabled: true, content_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    const path = `/agents/${agent.id}/skills?include=content`;
    const [full] = (await maker.get<List<Skill>>(path)).data.items;
    expect([full?.content, full?.files]).toEqual([
      '# Notes\n\nList what users can see.',
      [{ path: 'references/style.md', content: 'Short.', resource_id: null }],
    ]);
    const same = await putSkills(maker, agent.id, [{ id: made.id, skill_md: SKILL_MD, files }]);
    expect(same.data.items).toEqual([made]);
    expect((await read(maker, agent.id)).version).toBe(2);
    const other = { id: made.id, skill_md: SKILL_MD, description: 'Other.', files: [] };
    const [changed] = (await putSkills(maker, agent.id, [other])).data.items as [Skill];
    expect(changed).toMatchObject({ id: made.id, description: 'Other.' });
    expect(changed.content_hash).not.toBe(made.content_hash);
    expect((await putSkills(maker, agent.id, [])).data.items).toEqual([]);
  });

  test('stay as they are if only their ids are sent, so that they need not fit into one request', async () => {
    const agent = await newAgent(maker);
    const large = (name: string) => {
      const files = Array.from({ length: 7 }, (_, i) => ({ path: `${i}.txt`, content: `${name} `.repeat(180_000) }));
      return { name, description: `${name}.`, content: `Do ${name}.`, files };
    };
    let kept: Skill[] = [];
    for (const name of ['one', 'two', 'six']) {
      const before = kept.map(({ id }) => ({ id }));
      const { status, data } = await putSkills(maker, agent.id, [...before, large(name)]);
      expect([name, status]).toEqual([name, 200]);
      expect(data.items.slice(0, -1)).toEqual(kept);
      kept = data.items;
    }
    const path = `/agents/${agent.id}/skills?include=content`;
    const pages: List<Skill>[] = [];
    for (let cursor = ''; pages.length < 4; ) {
      const reply = await maker.get<List<Skill>>(`${path}${cursor}`);
      pages.push(reply.data);
      expect(reply.page).toMatchObject({ limit: 50, total: 3 });
      if (!reply.page.has_more) break;
      cursor = `&cursor=${reply.page.next_cursor}`;
    }
    const found = pages.map(({ items }) => items.map(({ name, files }) => [name, files?.[6]?.content?.slice(0, 3)]));
    expect(found).toEqual([[['one', 'one']], [['two', 'two']], [['six', 'six']]]);
    const [one, two, six] = kept as [Skill, Skill, Skill];
    const changed = await putSkills(maker, agent.id, [{ id: six.id }, { ...inline, id: two.id }]);
    expect(changed.data.items).toMatchObject([six, { id: two.id, name: 'one' }]);
    const unknown = await putSkills(maker, agent.id, [{ id: one.id }]);
    expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining('"skills[0].id"')]);
    expect((await maker.get<List<Skill>>(`${path}&offset=0&limit=2`)).data.items).toMatchObject([{ name: 'six' }]);
  }, 120_000);

  const inline = { name: 'one', description: 'One.', content: 'Text.' };
  test.each<[string, object[], string]>([
    ['no description', [{ name: 'one', content: 'x' }], 'skills[0].description'],
    ['no content', [{ name: 'one', description: 'One.' }], 'skills[0].content'],
    ['a name with capitals', [{ ...inline, name: 'One' }], 'skills[0].name'],
    ['one name twice', [inline, inline], 'skills[1].name'],
    ['an id of no skill', [{ ...inline, id: '00000000-0000-4000-8000-00000000dead' }], 'skills[0].id'],
    ['a path that leads out', [{ ...inline, files: [{ path: '../x', content: '' }] }], 'skills[0].files[0].path'],
    ['an absolute path', [{ ...inline, files: [{ path: '/x', content: '' }] }], 'skills[0].files[0].path'],
    ['a file of nothing', [{ ...inline, files: [{ path: 'x' }] }], 'skills[0].files[0].content'],
    [
      'files that are too large together',
      [
        {
          ...inline,
          files: Array.from({ length: 9 }, (_, i) => ({ path: `${i}.md`, content: 'x'.repeat(1_048_576) })),
        },
      ],
      'skills[0].files',
    ],
    ['a body that is too long', [{ ...inline, content: 'ü'.repeat(40_000) }], 'skills[0].content'],
    ['a file without front matter', [{ skill_md: '# Notes' }], 'skills[0].skill_md'],
    ['two contents', [{ ...inline, skill_md: SKILL_MD }], 'skills[0].content'],
    [
      'a document of nobody',
      [{ name: 'one', description: 'One.', resource_id: '00000000-0000-4000-8000-00000000dead' }],
      'skills[0].resource_id',
    ],
  ])('are refused with %s, all of them', async (_, skills, param) => {
    const agent = await newAgent(maker);
    const { status, error } = await putSkills(maker, agent.id, skills);
    expect([400, 404]).toContain(status);
    const details = Array.isArray(error.details) ? (error.details as { param: string }[]) : [];
    expect([error.param, ...details.map((fault) => fault.param)]).toContain(param);
    expect((await read(maker, agent.id)).skill_count).toBe(0);
  });

  test('from a document need one that the caller may read', async () => {
    const agent = await newAgent(maker);
    const skill = (id: string) => [{ name: 'live', description: 'Live.', resource_id: id }];
    const { data } = await putSkills(maker, agent.id, skill(world.closed.document.id));
    expect(data.items).toMatchObject([{ source: 'resource', resource_id: world.closed.document.id, content: null }]);
    expect((await putSkills(maker, agent.id, skill(world.closed.folder.id))).status).toBe(404);
    const theirs = await newAgent(world.stranger);
    expect((await putSkills(world.stranger, theirs.id, skill(world.closed.document.id))).status).toBe(404);
  });
});
