import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { type Person, signUp } from '../src/people.js';
import type { Import, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';

/** Tests that nothing is called for an Org outside of its `url_allowlist`. */

interface Id {
  readonly id: string;
}

let owner: Person;
let org: Org;
let workspace: Workspace;
let agent: Id;
let table: string;
let server: Server;
let origin: string;
let calls = 0;

beforeAll(async () => {
  server = createServer((_, response) => {
    calls++;
    response.end('# There');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  owner = await signUp(await standingSystem(), 'Owner');
  org = (await owner.post<Org>('/orgs', { name: 'Narrow' })).data;
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Narrow', org_id: org.id })).data;
  agent = (await owner.post<Id>('/agents', { name: 'Helper', org_id: org.id })).data;
  table = (await owner.post<Resource>('/resources', { type: 'table', name: 'T', workspace_id: workspace.id })).data.id;
  await owner.patch(`/resources/${table}/content`, { mode: 'append', columns: [{ id: 'a', name: 'A', type: 'text' }] });
}, 90_000);
afterAll(() => {
  server?.close();
});
beforeEach(() => allow());

async function allow(...entries: string[]): Promise<void> {
  const { status } = await owner.patch(`/orgs/${org.id}`, { settings: { url_allowlist: entries } });
  expect(status).toBe(200);
}

const automation = () => ({
  workspace_id: workspace.id,
  name: 'Call',
  trigger: { type: 'manual' },
  retry: { max_attempts: 0 },
  actions: [{ id: 'call', type: 'http_request', config: { url: `${origin}/automation` } }],
});

const SAVES: readonly [string, () => Promise<{ status: number; error: { code: string } }>][] = [
  ['an http_request of an automation', () => owner.post('/automations', automation())],
  ['an MCP server', () => owner.post(`/agents/${agent.id}/mcp`, { name: `s${Date.now()}`, url: `${origin}/mcp` })],
  [
    'an import',
    () =>
      owner.post(`/workspaces/${workspace.id}/imports`, {
        source_type: 'markdown',
        source_url: `${origin}/import.md`,
      }),
  ],
  [
    'the source of a file',
    () => owner.post('/files', { name: 'file.md', workspace_id: workspace.id, source_url: `${origin}/file.md` }),
  ],
  [
    'a connector',
    () =>
      owner.post(`/workspaces/${workspace.id}/connectors`, { type: 'http', config: { url: `${origin}/connector` } }),
  ],
  [
    'the webhook of a form',
    () => owner.post(`/resources/${table}/form`, { config: { title: 'F', webhooks: [{ url: `${origin}/form` }] } }),
  ],
];

describe.each(SAVES)('the URL of %s', (_, save) => {
  test('is refused at save unless the Org lists it', async () => {
    await allow('example.org');
    const refused = await save();
    expect([refused.status, refused.error?.code]).toEqual([400, 'url_not_allowed']);
    await allow('localhost');
    const made = await save();
    expect([200, 201, 202]).toContain(made.status);
  });
});

test('a list that was narrowed later stops the calls of what exists', async () => {
  const { id } = (await owner.post<Id>('/automations', automation())).data;
  const run = async () => {
    const begun = (await owner.post<Id>(`/automations/${id}/run`, {})).data;
    return eventually(async () => {
      const path = `/automations/${id}/runs/${begun.id}`;
      const { data } = await owner.get<{ status: string; error: { code: string } | null }>(path);
      expect(['completed', 'failed']).toContain(data.status);
      return [data.status, data.error?.code];
    });
  };
  expect(await run()).toEqual(['completed', undefined]);
  await allow('example.org');
  const before = calls;
  expect(await run()).toEqual(['failed', 'url_not_allowed']);
  expect(calls).toBe(before);
});

test('an MCP server outside of the list is not called', async () => {
  const path = `/agents/${agent.id}/mcp`;
  const { data } = await owner.post<Id>(path, { name: 'later', url: `${origin}/mcp` });
  const lastError = async () => {
    const { items } = (await owner.get<{ items: readonly { id: string; last_error: string | null }[] }>(path)).data;
    return items.find(({ id }) => id === data.id)?.last_error ?? null;
  };
  // A new server is called at once; the list ends only later calls.
  await eventually(async () => expect(await lastError()).not.toBeNull());
  await allow('example.org');
  const before = calls;
  await owner.patch(path, { server_id: data.id, refresh: true });
  await eventually(async () => expect(await lastError()).toContain('url_allowlist'));
  expect(calls).toBe(before);
});

test('a Personal tenant has no list', async () => {
  await allow('example.org');
  const { data: personal } = await owner.post<Workspace>('/workspaces', { name: 'Mine' });
  const begun = await owner.post<Import>(`/workspaces/${personal.id}/imports`, {
    source_type: 'markdown',
    source_url: `${origin}/import.md`,
  });
  expect(begun.status).toBe(201);
});
