import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newAgent, putWorkspaces } from '../src/agents.js';
import { endOfRun } from '../src/chat.js';
import { eventually } from '../src/eventually.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { List, Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

// Tests an agent whose MCP server is its own installation.

const QUESTION = 'Write down what gallium does.';

let model: ChatServer;
let system: OwnSystem;
let owner: Person;
let workspace: Workspace;
let agentId: string;
let keyId: string;

beforeAll(async () => {
  model = await openChatServer();
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: 'scripted',
    COMMONPLACE_URL_ALLOWLIST: '127.0.0.1',
  });
  owner = await signUp(system, 'Owner');
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Metals' })).data;
  const approval_policy = { mode: 'custom', rules: [{ decision: 'allow', even_if_tainted: true }] };
  agentId = (await newAgent(owner, { tools: [], approval_policy })).id;
  await putWorkspaces(owner, agentId, { workspaces: [{ workspace_id: workspace.id, role: 'editor' }] });
  const { id, key } = await newKey(owner, ['search:read', 'resource:read', 'resource:write', 'content:read']);
  keyId = id;
  const server = {
    name: 'own',
    url: `${system.baseUrl}/mcp`,
    auth: { type: 'bearer', token: key },
    require_approval: 'never',
    read_only_tools: ['search', 'read'],
  };
  const { status, text } = await owner.post(`/agents/${agentId}/mcp`, server);
  if (status !== 201) throw new Error(text);
}, 180_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
});

test('gets the tools of the key, and its calls take effect once, under the key', async () => {
  await eventually(async () => {
    const { data } = await owner.get<List<object>>(`/agents/${agentId}/mcp`);
    expect(data.items).toMatchObject([{ status: 'connected', protocol_version: '2026-07-28', last_error: null }]);
    const [{ tools }] = data.items as [{ tools: { name: string }[] }];
    const names = ['call', 'create', 'list', 'operations', 'query_rows', 'read', 'search'];
    expect(tools.map(({ name }) => name).sort()).toEqual(names);
  }, 60_000);
  const page = { type: 'document', name: 'Gallium', workspace_id: workspace.id, content: 'It melts in the hand.' };
  const { data: source } = await owner.post<Resource>('/resources', page);
  const read = { id: 'read-1', name: 'own__read', arguments: { resource_id: source.id } };
  const note = { type: 'document', name: 'Note', workspace_id: workspace.id, content: 'Gallium melts in the hand.' };
  const create = { id: 'create-1', name: 'own__create', arguments: note };
  const replies = [{ toolCalls: [read] }, { toolCalls: [create] }, { text: 'It is written down.' }];
  model.script({ match: QUESTION, by: 'turn', replies });
  const { data: started } = await owner.post<{ id: string }>('/agent-runs', {
    agent_id: agentId,
    input: QUESTION,
    workspace_id: workspace.id,
  });
  const run = await endOfRun(owner, started.id);
  expect([run.status, run.output?.text, run.error]).toEqual(['completed', 'It is written down.', null]);
  expect(JSON.stringify(model.calls.at(-1))).toContain('It melts in the hand.');
  const { data: listed } = await owner.get<List<Resource>>(`/workspaces/${workspace.id}/resources?q=Note`);
  expect(listed.items).toMatchObject([{ name: 'Note', created_by: { id: keyId } }]);
}, 120_000);
