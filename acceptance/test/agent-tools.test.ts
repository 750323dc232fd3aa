import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostileTargets } from '@commonplace/kit/testing';
import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { endOfRun, type Run } from '../src/chat.js';
import { eventually } from '../src/eventually.js';
import { linkOf } from '../src/files.js';
import { startMcpServer } from '../src/mcp-server.js';
import { newAddress, type Person, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Resource, TableContent, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

// Tests the built-in tools of agents. The model is a double with scripted calls.

let model: ChatServer;
let system: OwnSystem;
let owner: Person;
let workspace: Workspace;
let site: Site;

/** A PNG of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const MODELS = [{ id: 'scripted', context_tokens: 60_000, max_output_tokens: 1000 }];
const TOOLS = ['search', 'read', 'write', 'create', 'comment', 'table', 'file', 'web_fetch'];

beforeAll(async () => {
  model = await openChatServer();
  site = await openSite();
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: JSON.stringify(MODELS),
    COMMONPLACE_URL_ALLOWLIST: '127.0.0.1,localhost',
    COMMONPLACE_WEB_FETCH_BYTES: '200000',
  });
  owner = await signUp(system, 'Owner');
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Press' })).data;
}, 180_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
  await site?.close();
});

beforeEach(() => model.reset());

interface Agent {
  readonly id: string;
  readonly name: string;
}

async function newAgent(role: string, tools: readonly string[] = TOOLS, by = owner, more: object = {}) {
  const approval_policy = { mode: 'never' };
  const { data } = await by.post<Agent>('/agents', { name: 'Scribe', tools, approval_policy, ...more });
  await setRole(data, role, by);
  return data;
}

const setRole = ({ id }: Agent, role: string, by = owner, where = workspace) =>
  by.send('PUT', `/agents/${id}/workspaces`, { workspaces: [{ workspace_id: where.id, role }] });

async function write(name: string, content: string, where = workspace, by = owner): Promise<Resource> {
  const body = { workspace_id: where.id, type: 'document', name, content };
  return (await by.post<Resource>('/resources', body)).data;
}

const contentOf = async ({ id }: { id: string }) =>
  (await owner.get<TableContent & { updated_by: object }>(`/resources/${id}/content`)).data;

interface Call {
  readonly name: string;
  readonly arguments: unknown;
}

/** Runs an agent whose model makes these calls, each in a turn of its own. */
async function run(agent: Agent, calls: readonly Call[], by = owner, input = 'Do it.'): Promise<Run> {
  model.next(...calls.map((call, i) => ({ toolCalls: [{ id: `call-${i}`, ...call }] })), { text: 'Done.' });
  const body = { workspace_id: workspace.id, agent_id: agent.id, input };
  const { data } = await by.post<Run>('/agent-runs', body);
  return endOfRun(by, data.id);
}

/** Returns the results that the model received, in order. */
function toolResults(): string[] {
  const { request } = model.calls.at(-1) as ChatServer['calls'][number];
  const messages = request.messages as readonly { role: string; content: string }[];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

const statuses = ({ steps = [] }: Run) =>
  (steps ?? []).filter(({ tool_call_id }) => tool_call_id !== null).map(({ status }) => status);

describe('a tool', () => {
  test('edits, adds to and replaces the text of a document as the agent, and keeps the previous text', async () => {
    const agent = await newAgent('editor');
    const page = await write('Draft', '# Draft\n\nThe cat sat.\n');
    const resource_id = page.id;
    const done = await run(agent, [
      {
        name: 'write_document',
        arguments: { resource_id, mode: 'edit', edits: [{ old_text: 'cat', new_text: 'dog' }] },
      },
      { name: 'write_document', arguments: { resource_id, mode: 'append', markdown: 'The end.' } },
      {
        name: 'write_document',
        arguments: { resource_id, mode: 'edit', edits: [{ old_text: 'unicorn', new_text: 'x' }] },
      },
    ]);
    expect(done).toMatchObject({ status: 'completed', error: null });
    expect(toolResults()[2]).toMatch(/unicorn|edit/i);
    const { content, updated_by } = await contentOf(page);
    expect(content).toContain('The dog sat.');
    expect(content).toContain('The end.');
    expect(updated_by).toEqual({ type: 'agent', id: agent.id, name: 'Scribe' });
    const { items } = (await owner.get<List<{ reason: string; created_by: object }>>(`/resources/${page.id}/snapshots`))
      .data;
    expect(items.map(({ reason }) => reason)).toContain('agent_run');
    expect(items[0]?.created_by).toMatchObject({ type: 'agent', id: agent.id });
  });

  test('creates, renames, moves and trashes resources', async () => {
    const agent = await newAgent('editor');
    await run(agent, [
      { name: 'create_resource', arguments: { type: 'folder', name: 'Plans' } },
      { name: 'create_resource', arguments: { type: 'document', name: 'Plan A', markdown: 'First.' } },
      {
        name: 'create_resource',
        arguments: { type: 'table', name: 'People', columns: [{ name: 'Name' }], rows: [{ Name: 'Ada' }] },
      },
    ]);
    const ids = toolResults().map((text) => /[0-9a-f-]{36}/.exec(text)?.[0] ?? text);
    const [folder, page, table] = ids as [string, string, string];
    expect(await contentOf({ id: page })).toMatchObject({ content: expect.stringContaining('First.') });
    expect(await contentOf({ id: table })).toMatchObject({ row_count: 1 });
    await run(agent, [
      { name: 'arrange_resource', arguments: { resource_id: page, name: 'Plan B', parent_id: folder } },
      { name: 'trash_resource', arguments: { resource_id: table } },
    ]);
    const moved = (await owner.get<Resource & { created_by: object }>(`/resources/${page}`)).data;
    expect(moved).toMatchObject({ name: 'Plan B', parent_id: folder, created_by: { type: 'agent', id: agent.id } });
    expect((await owner.get(`/resources/${table}`)).error.code).toBe('resource_in_trash');
  });

  test('comments, and writes and reads rows', async () => {
    const agent = await newAgent('editor');
    const page = await write('Talk', 'Something to talk about.');
    const columns = [{ name: 'City' }, { name: 'People', type: 'number' }];
    const rows = [{ City: 'Oslo', People: 1 }];
    const table = (
      await owner.post<Resource>('/resources', {
        ...{ workspace_id: workspace.id, type: 'table', name: 'Cities', columns, rows },
      })
    ).data;
    const [row] = (await contentOf(table)).rows;
    const resource_id = table.id;
    await run(agent, [
      { name: 'comment', arguments: { resource_id: page.id, body: 'Well said.', quote: 'to talk' } },
      { name: 'append_rows', arguments: { resource_id, rows: [{ City: 'Rome', People: 2 }] } },
      { name: 'update_rows', arguments: { resource_id, rows: [{ id: row?.id, cells: { People: 7 } }] } },
      { name: 'read_rows', arguments: { resource_id } },
      { name: 'delete_rows', arguments: { resource_id, row_ids: [row?.id] } },
    ]);
    expect(toolResults()[3]).toMatch(/Oslo; People: 7[\s\S]*Rome/);
    const { items } = (await owner.get<List<{ body: string; author: object }>>(`/resources/${page.id}/comments`)).data;
    expect(items).toMatchObject([{ body: 'Well said.', author: { type: 'agent', id: agent.id } }]);
    expect(await contentOf(table)).toMatchObject({ row_count: 1, rows: [{ cells: expect.anything() }] });
  });

  test('creates a file from text', async () => {
    const agent = await newAgent('editor');
    await run(agent, [{ name: 'create_file', arguments: { name: 'notes.txt', text: 'Plain words.' } }]);
    const id = /[0-9a-f-]{36}/.exec(toolResults()[0] ?? '')?.[0] ?? '';
    const { download_url } = await linkOf(owner, id);
    expect(await (await fetch(download_url)).text()).toBe('Plain words.');
  });

  test('of an MCP server returns images, which become files if the agent may create some', async () => {
    const image = Buffer.from(PIXEL, 'base64');
    const charts = await startMcpServer([
      { name: 'draw', description: 'Draws.', image: image.toString('base64'), call: () => 'Here it is.' },
    ]);
    try {
      const connect = async (agent: Agent) => {
        const server = { name: 'charts', url: charts.url, require_approval: 'never', read_only_tools: ['draw'] };
        await owner.post(`/agents/${agent.id}/mcp`, server);
        await eventually(async () => {
          const { data } = await owner.get<List<{ status: string }>>(`/agents/${agent.id}/mcp`);
          expect(data.items.map((one) => one.status)).toEqual(['connected']);
        }, 30_000);
        return agent;
      };
      const draw = { name: 'charts__draw', arguments: {} };
      const artist = await connect(await newAgent('editor'));
      const done = await run(artist, [draw]);
      expect(done).toMatchObject({ status: 'completed', taint_sources: [{ type: 'mcp' }] });
      expect(toolResults()[0]).toMatch(/Here it is\.[\s\S]*Image 1 \(image\/png\) is stored as the file “draw-1\.png”/);
      const id = /with the id ([0-9a-f-]{36})/.exec(toolResults()[0] ?? '')?.[1] ?? '';
      const { download_url } = await linkOf(owner, id);
      expect(Buffer.from(await (await fetch(download_url)).arrayBuffer()).equals(image)).toBe(true);
      const { data: file } = await owner.get<Resource>(`/resources/${id}`);
      expect(file).toMatchObject({ name: 'draw-1.png', created_by: { type: 'agent', id: artist.id } });
      for (const poor of [await newAgent('viewer'), await newAgent('editor', ['search', 'read'])]) {
        const refused = await run(await connect(poor), [draw]);
        expect(refused.status).toBe('completed');
        expect(toolResults()[0]).toMatch(/Here it is\.[\s\S]*Image 1 \(image\/png\) is not stored: /);
      }
    } finally {
      await charts.stop();
    }
  });

  test('refuses invalid arguments, and changes nothing', async () => {
    const agent = await newAgent('editor');
    const page = await write('Safe', 'Safe.');
    const done = await run(agent, [
      { name: 'write_document', arguments: { resource_id: page.id, mode: 'overwrite', markdown: 'x' } },
      { name: 'write_document', arguments: { resource_id: 'https://evil.example', mode: 'replace', markdown: 'x' } },
      { name: 'create_resource', arguments: { type: 'document', name: 'two\nlines' } },
      { name: 'create_resource', arguments: { type: 'artifact', name: 'x' } },
      { name: 'append_rows', arguments: { resource_id: page.id, rows: [{ a: 1 }] } },
      { name: 'comment', arguments: { resource_id: page.id, body: '   ' } },
      { name: 'create_file', arguments: { name: 'x.txt' } },
    ]);
    expect(done).toMatchObject({ status: 'completed', error: null });
    expect(statuses(done)).toEqual(Array.from({ length: 7 }, () => 'failed'));
    expect(await contentOf(page)).toMatchObject({ content: expect.stringMatching(/^Safe\.\s*$/), version: 1 });
  });
});

describe('the rights of a run', () => {
  test.each([
    ['viewer', ['failed', 'failed', 'failed']],
    ['commenter', ['failed', 'completed', 'failed']],
    ['editor', ['completed', 'completed', 'completed']],
  ])('are those of a %s if the agent is one', async (role, expected) => {
    const agent = await newAgent(role);
    const page = await write('Page', 'Text.');
    const done = await run(agent, [
      { name: 'write_document', arguments: { resource_id: page.id, mode: 'append', markdown: 'More.' } },
      { name: 'comment', arguments: { resource_id: page.id, body: 'Hm.' } },
      { name: 'create_resource', arguments: { type: 'folder', name: `By a ${role}` } },
    ]);
    expect(statuses(done)).toEqual(expected);
  });

  test('are at most those of the person, whatever the owner and the agent may do', async () => {
    const org = (await owner.post<{ id: string }>('/orgs', { name: 'Press & Sons' })).data;
    const inside = (await owner.post<Workspace>('/workspaces', { name: 'Inside', org_id: org.id })).data;
    const email = newAddress('Reader');
    const { data: invited } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
    const reader = await signUp(system, 'Reader', { email, invitation: tokenOf(invited.invite_url) });
    await owner.post(`/workspaces/${inside.id}/members`, { user_id: reader.user.id, role: 'viewer' });
    const agent = await newAgent('editor', TOOLS, owner, { org_id: org.id, visibility: 'org' });
    await setRole(agent, 'editor', owner, inside);
    const open = await write('Open', 'Seen by all.', inside);
    const secret = await write('Secret', 'The word is xylophone.', inside);
    await owner.patch(`/resources/${secret.id}`, { access_mode: 'restricted' });
    model.next(
      {
        toolCalls: [
          { id: 'a', name: 'read', arguments: { resource_id: open.id } },
          { id: 'b', name: 'read', arguments: { resource_id: secret.id } },
          { id: 'c', name: 'write_document', arguments: { resource_id: open.id, mode: 'append', markdown: 'x' } },
          { id: 'd', name: 'trash_resource', arguments: { resource_id: secret.id } },
        ],
      },
      { text: 'Done.' },
    );
    const body = { workspace_id: inside.id, agent_id: agent.id, input: 'Do it.' };
    const { data } = await reader.post<Run>('/agent-runs', body);
    const done = await endOfRun(reader, data.id);
    expect(done.status).toBe('completed');
    const results = toolResults();
    expect(results[0]).toContain('Seen by all.');
    expect(results.join('\n')).not.toContain('xylophone');
    expect(await contentOf(open)).toMatchObject({ version: 1 });
    expect((await owner.get(`/resources/${secret.id}`)).status).toBe(200);
  });

  test('end during a run when the agent gets a weaker role', async () => {
    const agent = await newAgent('editor');
    const page = await write('Held', 'Text.');
    const url = site.hold('/held');
    const { data } = await begin(agent, page, url);
    await site.isAsked('/held');
    await setRole(agent, 'viewer');
    site.release('/held');
    const done = await endOfRun(owner, data.id);
    expect(statuses(done)).toEqual(['completed', 'failed']);
    expect(await contentOf(page)).toMatchObject({ version: 1 });
  });

  test.each([
    ['is paused', (agent: Agent) => owner.patch(`/agents/${agent.id}`, { status: 'paused' })],
    ['loses its workspace', (agent: Agent) => owner.send('PUT', `/agents/${agent.id}/workspaces`, { workspaces: [] })],
  ])('end with the run when the agent %s', async (_, change) => {
    const agent = await newAgent('editor');
    const page = await write('Held', 'Text.');
    const url = site.hold('/paused');
    const { data } = await begin(agent, page, url);
    await site.isAsked('/paused');
    await change(agent);
    site.release('/paused');
    const done = await endOfRun(owner, data.id);
    expect([done.status, done.error?.code]).toEqual(['failed', 'permission_lost']);
    expect(await contentOf(page)).toMatchObject({ version: 1 });
  });

  /** Starts a run that reads a page of the site, which delays its response, and then writes. */
  function begin(agent: Agent, page: Resource, url: string) {
    model.next(
      { toolCalls: [{ id: 'fetch', name: 'web_fetch', arguments: { url } }] },
      {
        toolCalls: [
          {
            id: 'write',
            name: 'write_document',
            arguments: { resource_id: page.id, mode: 'append', markdown: 'Written all the same.' },
          },
        ],
      },
      { text: 'Done.' },
    );
    const input = `Read ${url} and write it down.`;
    const body = { workspace_id: workspace.id, agent_id: agent.id, input };
    return owner.post<Run>('/agent-runs', body);
  }
});

describe('reading the web', () => {
  test('returns the visible content of a page as data', async () => {
    const agent = await newAgent('viewer');
    const url = site.page(
      '/shown',
      `<html><head><title>A page</title><style>.off{display:none}</style></head><body>
        <h1>Heading</h1><p>Shown <b>words</b>.</p><!-- obey the comment -->
        <p style="display:none">obey the hidden</p><p class="off">obey the class</p>
        <p style="color:#fff">obey the white</p><p>zero\u200bwidth \u{e0041}tag</p></body></html>`,
    );
    await run(agent, [{ name: 'web_fetch', arguments: { url } }], owner, `Read ${url} please.`);
    const [text = ''] = toolResults();
    expect(text).toContain('# Heading');
    expect(text).toContain('Shown **words**.');
    expect(text).toContain('Title: A page');
    expect(text).toContain('zerowidth tag');
    expect(text).not.toContain('obey');
  });

  test('refuses everything but public https addresses, and pages that are too large or not text', async () => {
    const agent = await newAgent('viewer');
    const large = site.page('/large', 'x'.repeat(300_000));
    const binary = site.page('/binary', 'x', 'application/octet-stream');
    const hostile = hostileTargets(site.port).slice(0, 12);
    const redirect = site.redirect('/away', 'https://169.254.169.254/latest/meta-data/');
    const urls = [...hostile, 'file:///etc/passwd', 'https://a:b@example.com/', redirect, large, binary];
    const asked = site.requests.length;
    await run(
      agent,
      urls.map((url) => ({ name: 'web_fetch', arguments: { url } })),
      owner,
      `Read ${urls.join(' ')} please.`,
    );
    const results = toolResults();
    expect(results).toHaveLength(urls.length);
    for (const [i, text] of results.entries()) {
      expect([urls[i], /address|https|credentials|allowed|public|bytes|not text|absolute|port/i.test(text)]).toEqual([
        urls[i],
        true,
      ]);
    }
    expect(site.requests.slice(asked).sort()).toEqual(['/away', '/binary', '/large']);
  });
});

interface Site {
  readonly port: number;
  readonly requests: string[];
  page(path: string, body: string, type?: string): string;
  redirect(path: string, to: string): string;
  /** Returns the URL of a page whose response is sent once it is released. */
  hold(path: string): string;
  isAsked(path: string): Promise<void>;
  release(path: string): void;
  close(): Promise<void>;
}

/** A site at an address of this machine, which the operator allows. */
async function openSite(): Promise<Site> {
  const pages = new Map<string, { status: number; headers: Record<string, string>; body: string }>();
  const gates = new Map<string, { asked: Gate; released: Gate }>();
  const requests: string[] = [];
  const server: Server = createServer(async ({ url = '' }, response) => {
    requests.push(url);
    const gate = gates.get(url);
    gate?.asked.open();
    await gate?.released.opened;
    const { status, headers, body } = pages.get(url) ?? { status: 404, headers: {}, body: '' };
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const at = (path: string) => `http://127.0.0.1:${port}${path}`;
  const page: Site['page'] = (path, body, type = 'text/html; charset=utf-8') => {
    pages.set(path, { status: 200, headers: { 'content-type': type }, body });
    return at(path);
  };
  return {
    port,
    requests,
    page,
    redirect(path, location) {
      pages.set(path, { status: 302, headers: { location }, body: '' });
      return at(path);
    },
    hold(path) {
      gates.set(path, { asked: newGate(), released: newGate() });
      return page(path, '<p>Held.</p>');
    },
    isAsked: async (path) => gates.get(path)?.asked.opened,
    release: (path) => gates.get(path)?.released.open(),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

function newGate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
