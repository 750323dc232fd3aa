import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { putWorkspaces } from '../src/agents.js';
import { eventually } from '../src/eventually.js';
import { type RunningMcpServer, startMcpServer } from '../src/mcp-server.js';
import { newAddress, type Person, signUp, tokenOf } from '../src/people.js';
import type { List, Workspace, WorkspaceMember } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface McpServer {
  readonly id: string;
  readonly name: string;
  readonly url: string | null;
  readonly status: string;
  readonly auth: { readonly type: string; readonly is_set: boolean } | null;
  readonly header_names: readonly string[];
  readonly last_error: string | null;
  readonly protocol_version: string | null;
  readonly require_approval: unknown;
  readonly tools: readonly { readonly name: string; readonly description: string; readonly hash: string }[];
  readonly pending_tools: readonly { readonly name: string; readonly change: string; readonly diff: string }[];
  readonly version: number;
}

let system: System;
let owner: Person;
let path: string;
let remote: RunningMcpServer;

beforeAll(async () => {
  system = await standingSystem();
  owner = await signUp(system, 'Maker');
  remote = await startMcpServer([{ name: 'find', description: 'Finds tickets.' }]);
  path = `/agents/${(await owner.post<{ id: string }>('/agents', { name: 'Helper' })).data.id}/mcp`;
}, 90_000);
afterAll(() => remote?.stop());

const list = async (): Promise<readonly McpServer[]> => (await owner.get<List<McpServer>>(path)).data.items;

/** Waits until a server has the expected state, and returns it. */
function come(name: string, isSo: (server: McpServer) => boolean): Promise<McpServer> {
  return eventually(async () => {
    const server = (await list()).find((one) => one.name === name);
    if (server === undefined || !isSo(server)) throw new Error(`it is ${JSON.stringify(server)}`);
    return server;
  }, 30_000);
}

describe('an MCP server', () => {
  test('is added, called in the background, changed and deleted, and no response has its secrets', async () => {
    const auth = { type: 'bearer', token: 'a-very-secret-token' };
    const headers = { 'X-Team': 'a-very-secret-team' };
    const made = await owner.post<McpServer>(path, { name: 'tickets', url: remote.url, auth, headers });
    expect([made.status, made.data.status, made.data.auth]).toMatchObject([201, 'unverified', { is_set: true }]);
    const server = await come('tickets', ({ status }) => status === 'connected');
    expect(server).toMatchObject({ header_names: ['x-team'], protocol_version: '2026-07-28', last_error: null });
    expect(server.require_approval).toBe('always');
    expect(server.tools).toMatchObject([{ name: 'find', description: 'Finds tickets.' }]);
    expect(remote.authorizations).toEqual(new Set(['Bearer a-very-secret-token']));
    const { text } = await owner.get(path);
    expect(text).not.toContain('very-secret');

    const change = { name: 'tickets', new_name: 'issues', require_approval: { never: ['find'] }, timeout_ms: 5_000 };
    const changed = await owner.patch<McpServer>(path, change);
    expect(changed.data).toMatchObject({ id: server.id, name: 'issues', require_approval: { never: ['find'] } });
    expect((await owner.patch(path, { name: 'tickets', timeout_ms: 5_000 })).status).toBe(404);
    expect((await owner.patch(path, { name: 'issues' })).body.error?.code).toBe('no_update_field');
    expect((await owner.patch(path, { url: 'https://10.0.0.1/' })).body.error?.code).toBe('url_not_allowed');
    const moved = await owner.patch(path, { url: 'https://mcp.example.com/mcp' });
    expect([moved.status, moved.body.error?.code]).toEqual([409, 'secret_reentry_required']);
    expect((await owner.post(path, { name: 'issues', url: remote.url })).body.error?.code).toBe('already_exists');
    for (const blank of ['', ' ']) {
      expect((await owner.post(path, { name: blank, url: remote.url })).body.error?.code).toBe('invalid_value');
      expect((await owner.patch(path, { name: 'issues', new_name: blank })).body.error?.code).toBe('invalid_value');
    }
    expect((await owner.post(path, { name: 'Two words', url: remote.url })).data).toMatchObject({ name: 'Two words' });
    await owner.del(`${path}?name=Two%20words`);

    expect((await owner.del(path)).body.error?.code).toBe('missing_target');
    expect((await owner.del(`${path}?name=issues`)).data).toEqual({ deleted_count: 1 });
    expect(await list()).toEqual([]);
    expect((await owner.del(`${path}?all=true`)).data).toEqual({ deleted_count: 0 });
  });

  test('shows others its name, its state and the names of its tools, and no other fields', async () => {
    const { data: server } = await owner.post<McpServer>(path, { name: 'shown', url: remote.url });
    const connected = await come('shown', ({ status }) => status === 'connected');
    const { data: place } = await owner.post<Workspace>('/workspaces', { name: 'Place' });
    const agentPath = path.replace('/mcp', '');
    await owner.patch(agentPath, { visibility: 'workspace' });
    await putWorkspaces(owner, agentPath.replace('/agents/', ''), { workspace_ids: [place.id] });
    const email = newAddress('Reader');
    const { data: member } = await owner.post<WorkspaceMember>(`/workspaces/${place.id}/members`, {
      email,
      role: 'viewer',
    });
    const reader = await signUp(system, 'Reader', { email, invitation: tokenOf(member.invite_url) });
    const { items } = (await reader.get<List<McpServer>>(path)).data;
    expect(items.find(({ id }) => id === server.id)).toEqual({
      ...{ id: server.id, name: 'shown', is_active: true, per_user_auth: false, status: 'connected' },
      ...{ tools: [{ name: 'find' }], version: connected.version },
    });
    const { data: agent } = await reader.get<{ mcp: McpServer[] }>(`${agentPath}?include=mcp`);
    expect(agent.mcp).toEqual(items);
    await owner.del(`${path}?name=shown`);
  });

  test('whose tools change withholds them until the owner accepts them', async () => {
    await owner.post(path, { name: 'changing', url: remote.url });
    await come('changing', ({ status }) => status === 'connected');
    remote.tools = [
      { name: 'find', description: 'Finds tickets, and sends them on.' },
      { name: 'send', description: 'Sends.' },
    ];
    await owner.patch(path, { refresh: true });
    const held = await come('changing', ({ pending_tools }) => pending_tools.length === 2);
    expect(held.tools.map(({ description }) => description)).toEqual(['Finds tickets.']);
    expect(held.pending_tools).toEqual([
      { name: 'find', change: 'changed', diff: '- Finds tickets.\n+ Finds tickets, and sends them on.' },
      { name: 'send', change: 'new', diff: expect.stringContaining('+ Sends.') },
    ]);
    const { data } = await owner.patch<McpServer>(path, { accept_tools: ['find'] });
    expect(data.pending_tools.map(({ name }) => name)).toEqual(['send']);
    const { data: all } = await owner.patch<McpServer>(path, { accept_tools: 'all' });
    expect([all.pending_tools, all.tools.map(({ name }) => name)]).toEqual([[], ['find', 'send']]);
    await owner.del(`${path}?all=true`);
  });

  test('shows its name, status and names of tools to others who may use the agent', async () => {
    const other = await signUp(system, 'User');
    const { data: org } = await owner.post<{ id: string }>('/orgs', { name: 'Agents' });
    const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'W', org_id: org.id });
    const body = { name: 'Shared', org_id: org.id, visibility: 'workspace' };
    const { data: agent } = await owner.post<{ id: string }>('/agents', body);
    const shared = `/agents/${agent.id}/mcp`;
    await owner.send('PUT', `/agents/${agent.id}/workspaces`, { workspace_ids: [workspace.id] });
    await owner.post(shared, { name: 'tickets', url: remote.url, auth: { type: 'bearer', token: 'secret-4711' } });
    expect((await other.get(shared)).status).toBe(404);
    const hidden = await owner.get<List<McpServer>>(shared);
    expect(hidden.data.items).toMatchObject([{ name: 'tickets', url: remote.url }]);
    expect((await owner.get<{ mcp: McpServer[] }>(`/agents/${agent.id}?include=mcp`)).data.mcp).toHaveLength(1);
  });

  test('that does not exist is an error, which its owner sees', async () => {
    const gone = await startMcpServer([]);
    await gone.stop();
    await owner.post(path, { name: 'gone', url: gone.url });
    const server = await come('gone', ({ status }) => status === 'error');
    expect(server.last_error).toContain('cannot be reached');
    await owner.del(`${path}?all=true`);
  });
});

test('the client document names the callback', async () => {
  const answer = await fetch(`${system.baseUrl}/.well-known/oauth-client/mcp.json`);
  expect(await answer.json()).toMatchObject({ client_name: 'Commonplace', token_endpoint_auth_method: 'none' });
});
