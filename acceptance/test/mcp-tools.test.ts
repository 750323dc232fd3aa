import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { connectMcp, ERAS, type Era, type McpSession, type ToolResult } from '../src/mcp-client.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { List, Resource, TableContent, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

// Tests the MCP server with the reference client, in both revisions of the protocol.

let system: System;
let owner: Person;
let other: Person;
let workspace: Workspace;
let everyScope: string[];
let key: string;

beforeAll(async () => {
  system = await standingSystem();
  [owner, other] = await Promise.all([signUp(system, 'Maker'), signUp(system, 'Other')]);
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Metals' })).data;
  await owner.post(`/workspaces/${workspace.id}/members`, { user_id: other.user.id, role: 'viewer' });
  everyScope = (await owner.get<{ scopes: string[] }>('/capabilities')).data.scopes;
  key = (await newKey(owner, everyScope)).key;
}, 90_000);

const dataOf = <T = Resource>({ structured, text, isError }: ToolResult): T => {
  if (isError) throw new Error(text);
  return structured.data as T;
};

describe.each(ERAS)('a client of the revision %s', (era: Era) => {
  let mcp: McpSession;
  let page: Resource;
  let table: Resource;

  beforeAll(async () => {
    mcp = await connectMcp(system, key, era);
    const content = 'Gallium **melts** at 29.76 degrees.';
    page = dataOf(await mcp.call('create', { type: 'document', name: 'Gallium', workspace_id: workspace.id, content }));
    const columns = [
      { id: 'name', name: 'Name', type: 'text' },
      { id: 'degrees', name: 'Degrees', type: 'number' },
    ];
    const rows = [
      { id: 'hg', cells: { name: 'Mercury', degrees: -39 } },
      { id: 'ga', cells: { name: 'Gallium | metal', degrees: 30 } },
    ];
    table = dataOf(
      await mcp.call('create', { type: 'table', name: 'Points', workspace_id: workspace.id, columns, rows }),
    );
  }, 60_000);
  afterAll(() => mcp?.close());

  test('negotiates the revision and gets the description of the server', () => {
    expect(mcp.client.getNegotiatedProtocolVersion()).toBe(era);
    expect(mcp.client.getServerVersion()).toMatchObject({ name: 'commonplace' });
    expect(mcp.client.getInstructions()).toContain('`search`');
  });

  test('lists tools with annotations from the contract', async () => {
    const { tools } = await mcp.client.listTools();
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(hints.search).toMatchObject({ readOnlyHint: true, openWorldHint: false });
    expect(hints.read).toMatchObject({ readOnlyHint: true });
    expect(hints.comment).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    expect(hints.write).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(hints.call).toMatchObject({ readOnlyHint: false, destructiveHint: true, openWorldHint: true });
    for (const { description, inputSchema } of tools) {
      expect(description?.length).toBeGreaterThan(40);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });

  test('search, list_workspaces and list return things with their ids', async () => {
    await eventually(async () => {
      const found = await mcp.call('search', { query: 'gallium melts', workspace_ids: [workspace.id] });
      expect(found.text).toContain(`**Gallium** (document, id \`${page.id}\`)`);
    });
    expect((await mcp.call('list_workspaces', { q: 'Metals' })).text).toContain(`| Metals | ${workspace.id} | owner |`);
    const first = await mcp.call('list', { workspace_id: workspace.id, sort: 'name', limit: 1 });
    const cursor = /`cursor`: `([^`]+)`/.exec(first.text)?.[1];
    const second = await mcp.call('list', { workspace_id: workspace.id, sort: 'name', limit: 1, cursor });
    const [one, two] = [first, second].map((result) => dataOf<List<Resource>>(result).items[0]?.id);
    expect(new Set([one, two]).size).toBe(2);
  });

  test('read returns a document as Markdown with its link, id and version, and the facts for programs', async () => {
    const { text, structured } = await mcp.call('read', { resource_id: page.id });
    expect(text).toMatch(/^# Gallium\n/);
    expect(text).toContain(`- link: ${system.baseUrl}/api/v1/resources/${page.id}`);
    expect(text).toContain('Gallium **melts** at 29.76 degrees.');
    expect(structured).toMatchObject({ resource: { id: page.id }, content: { version: 1 } });
  });

  test('read returns a long document in parts that add up to the whole', async () => {
    const lines = Array.from({ length: 6_000 }, (_, i) => `Line ${i} is here.`);
    const [start, end] = [lines.slice(0, 3_000), lines.slice(3_000)].map((part) => part.join('\n\n'));
    const whole = `${start}\n\n${end}`;
    const { id } = dataOf(
      await mcp.call('create', { type: 'document', name: 'Long', workspace_id: workspace.id, content: start }),
    );
    await mcp.call('write', { resource_id: id, mode: 'append', markdown: end });
    let text = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const result: ToolResult = await mcp.call('read', { resource_id: id, offset });
      expect(result.text.length).toBeLessThanOrEqual(40_200);
      const part = result.text.slice(result.text.indexOf('Line') < 0 ? 0 : result.text.search(/\n\n(?!- )/) + 2);
      const next: string | undefined = /Go on with `offset`: (\d+)/.exec(part)?.[1];
      text += part.replace(/\n\n\[\d+ of \d+ characters so far.*$/s, '');
      offset = next === undefined ? undefined : Number(next);
    }
    expect(text.length).toBeGreaterThan(100_000);
    expect(text.replaceAll(/[^\d]+/g, ' ').trim()).toBe(whole.replaceAll(/[^\d]+/g, ' ').trim());
  });

  test('write edits passages, all or none, appends to a document, and is refused for an old version', async () => {
    const edits = [{ old_text: '29.76', new_text: '29.77' }];
    expect((await mcp.call('write', { resource_id: page.id, mode: 'edit', edits })).text).toContain('- changed: true');
    expect((await mcp.call('write', { resource_id: page.id, mode: 'edit', edits })).code).toBe('edit_not_applicable');
    await mcp.call('write', { resource_id: page.id, mode: 'append', markdown: 'It boils much later.' });
    const { data } = await owner.get<{ content: string; version: number }>(`/resources/${page.id}/content`);
    expect(data.content).toContain('29.77 degrees.\n\nIt boils much later.');
    const late = { resource_id: page.id, mode: 'replace', markdown: 'Gone', base_version: 1 };
    expect((await mcp.call('write', late)).code).toBe('version_conflict');
  });

  test('query_rows and write_rows read and change a table', async () => {
    const filter = { and: [{ column: 'degrees', op: 'gt', value: 0 }] };
    const found = await mcp.call('query_rows', {
      resource_id: table.id,
      filter,
      sort: [{ column: 'name', direction: 'asc' }],
    });
    expect(found.text).toContain('- `degrees`: Degrees (number)');
    expect(found.text).toContain('| ga | Gallium \\| metal | 30 |');
    expect(found.text).not.toContain('Mercury');
    const rows = [
      { name: 'Mercury', degrees: -38.83 },
      { name: 'Tin', degrees: 232 },
    ];
    const written = await mcp.call('write_rows', {
      resource_id: table.id,
      mode: 'upsert',
      key_column_id: 'name',
      rows,
    });
    expect(written.text).toContain('- rows in all: 3');
    const { data } = await owner.get<TableContent>(`/resources/${table.id}/content`);
    expect(data.rows.map(({ cells }) => cells.degrees)).toEqual([-38.83, 30, 232]);
    expect((await mcp.call('read', { resource_id: table.id })).text).toContain('| Tin | 232 |');
  });

  test('comment, share and add_file do what their endpoints do', async () => {
    const comment = dataOf(await mcp.call('comment', { resource_id: page.id, body: 'Is it so?' }));
    const { data } = await owner.get<List<{ id: string; body: string }>>(`/resources/${page.id}/comments`);
    expect(data.items).toMatchObject([{ id: comment.id, body: 'Is it so?' }]);

    expect((await other.patch(`/resources/${page.id}`, { name: 'Mine' })).error.code).toBe('insufficient_role');
    dataOf(await mcp.call('share', { resource_id: page.id, principal_id: other.user.id, role: 'editor' }));
    expect((await other.patch(`/resources/${page.id}`, { icon: 'x' })).status).toBe(200);

    const added = await mcp.call('add_file', {
      name: 'points.csv',
      workspace_id: workspace.id,
      text: 'name,degrees\nTin,232',
    });
    const { resource } = dataOf<{ resource: Resource }>(added);
    expect((await mcp.call('read', { resource_id: resource.id })).text).toContain('# points.csv');
  });

  test('work items are created, changed and listed', async () => {
    const made = dataOf<{ id: string }>(
      await mcp.call('create_work_item', { title: `Measure ${era}`, workspace_id: workspace.id }),
    );
    const changed = await mcp.call('update_work_item', {
      work_item_id: made.id,
      status: 'in_progress',
      priority: 'high',
    });
    expect(changed.text).toContain('- status: in_progress');
    const listed = await mcp.call('list_work_items', { workspace_id: workspace.id, status: ['in_progress'] });
    expect(listed.text).toContain(`| Measure ${era} | in_progress | high |`);
  });

  test('messages are sent and read', async () => {
    const body = { type: 'group', workspace_id: workspace.id, name: `Talk ${era}`, member_ids: [other.user.id] };
    const { data } = await owner.post<{ id: string }>('/im/conversations', body);
    expect((await mcp.call('read_messages')).text).toContain(`| Talk ${era} | ${data.id} |`);
    dataOf(await mcp.call('send_message', { conversation_id: data.id, text: 'Hello there' }));
    expect((await mcp.call('read_messages', { conversation_id: data.id })).text).toContain('Hello there');
    const { data: got } = await other.get<List<{ text: string }>>(`/im/conversations/${data.id}/messages`);
    expect(got.items.map(({ text }) => text)).toContain('Hello there');
  });

  test('ask_agent waits for the answer with its sources, and reports its progress', async () => {
    const progress: string[] = [];
    const onprogress = ({ message }: { message?: string }) => void progress.push(message ?? '');
    const asked = await mcp.call(
      'ask_agent',
      { input: 'When does gallium melt?', workspace_id: workspace.id },
      { onprogress },
    );
    expect(asked.text).toMatch(/- status: completed/);
    expect(asked.text).toContain('[1] Gallium (id `');
    expect(progress.length).toBeGreaterThan(0);
    const run = dataOf<{ id: string }>(asked);
    expect((await mcp.call('get_run', { run_id: run.id })).text).toContain('[1] Gallium');
  });

  test('operations finds operations with their arguments, and call calls them', async () => {
    const listed = await mcp.call('operations', { q: 'tag create' });
    expect(listed.text).toContain('| operateTags |');
    expect(listed.text).not.toContain('listAgents');
    const described = await mcp.call('operations', { operation: 'operateTags' });
    expect(described.structured.arguments).toMatchObject({
      properties: { workspace_id: { format: 'uuid' }, name: {} },
    });
    const args = { workspace_id: workspace.id, name: `hot ${era}` };
    const tag = dataOf<{ id: string }>(await mcp.call('call', { operation: 'operateTags', arguments: args }));
    const { data } = await owner.get<List<{ id: string }>>(`/workspaces/${workspace.id}/tags`);
    expect(data.items.map(({ id }) => id)).toContain(tag.id);
    // A list, an id in the path and paging by query.
    const query = { workspace_id: workspace.id, type: ['table', 'document'], limit: 1, include: ['tags'] };
    expect(
      dataOf<List<Resource>>(await mcp.call('call', { operation: 'listResources', arguments: query })).items,
    ).toHaveLength(1);
    expect(
      dataOf<{ deleted: boolean }>(await mcp.call('call', { operation: 'deleteTag', arguments: { tag_id: tag.id } }))
        .deleted,
    ).toBe(true);
    const wrong = await mcp.call('call', { operation: 'getMe', arguments: { nonsense: 1 } });
    expect(wrong.code).toBe('unknown_parameter');
    expect((await mcp.call('call', { operation: 'dropEverything' })).code).toBe('invalid_value');
  });

  test('errors are results with the code and the request id of the API', async () => {
    const result = await mcp.call('read', { resource_id: randomUUID() });
    expect(result).toMatchObject({ isError: true, code: 'not_found' });
    expect(result.text).toMatch(/^Error `not_found`: .*\nRequest id: req_\w{26}$/);
    expect(result.structured.request_id).toMatch(/^req_/);
    const faults = await mcp.call('create', { type: 'document', name: '', workspace_id: 'x' });
    expect(faults.text).toMatch(/`validation_failed`[\s\S]*- `name`[\s\S]*- `workspace_id`/);
    expect((await mcp.call('search', { query: 'x', nonsense: 1 })).code).toBe('unknown_field');
    expect((await mcp.call('search', {})).code).toBe('missing_field');
    expect((await mcp.call('search', { query: 1 })).code).toBe('invalid_value');
  });

  test('a write that is sent again with its key takes effect once', async () => {
    const meta = { 'commonplace.dev/idempotency-key': `call ${era}` };
    const args = { title: `Once ${era}`, workspace_id: workspace.id };
    const first = dataOf<{ id: string }>(await mcp.call('create_work_item', args, { meta }));
    expect(dataOf<{ id: string }>(await mcp.call('create_work_item', args, { meta })).id).toBe(first.id);
    const changed = await mcp.call('create_work_item', { ...args, title: 'Other' }, { meta });
    expect(changed.code).toBe('idempotency_key_reused');
    const traced = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const again = dataOf<{ id: string }>(await mcp.call('create_work_item', args, { meta: traced }));
    expect(again.id).not.toBe(first.id);
    expect(dataOf<{ id: string }>(await mcp.call('create_work_item', args)).id).not.toBe(again.id);
  });

  test('a client that cancels ends the wait, and not the run', async () => {
    const leaves = new AbortController();
    const asked = mcp.call(
      'ask_agent',
      { input: 'When does tin melt?', workspace_id: workspace.id },
      {
        signal: leaves.signal,
        onprogress: () => leaves.abort(),
      },
    );
    await expect(asked).rejects.toThrow();
    const { data } = await owner.get<List<{ id: string; status: string }>>('/agent-runs?limit=1');
    expect(data.items[0]?.status).not.toBe('canceled');
  });

  test('a key gets only the tools that its scopes allow, and is refused the others', async () => {
    const narrow = await newKey(owner, ['resource:read', 'content:read']);
    const reader = await connectMcp(system, narrow.key, era);
    expect(await reader.names()).toEqual(['list', 'read', 'query_rows', 'operations', 'call']);
    expect((await reader.call('read', { resource_id: page.id })).isError).toBe(false);
    expect(await reader.call('search', { query: 'gallium' })).toMatchObject({
      isError: true,
      code: 'insufficient_scope',
    });
    const args = { operation: 'createComment', arguments: { resource_id: page.id, body: 'No' } };
    expect(await reader.call('call', args)).toMatchObject({ isError: true, code: 'insufficient_scope' });
    const { text } = await reader.call('operations');
    expect(text).toContain('| getResource |');
    expect(text).not.toContain('createComment');
    await owner.del(`/api-keys/${narrow.id}`);
    await expect(reader.call('read', { resource_id: page.id })).rejects.toThrow();
    await reader.close();
  });

  test('a key that is limited to workspaces reaches nothing else', async () => {
    const { data: secret } = await owner.post<Workspace>('/workspaces', { name: 'Secret' });
    const limited = await newKey(owner, everyScope, { workspace_ids: [workspace.id] });
    const session = await connectMcp(system, limited.key, era);
    expect((await session.call('list', { workspace_id: workspace.id })).isError).toBe(false);
    expect(await session.call('list', { workspace_id: secret.id })).toMatchObject({ code: 'tenant_boundary' });
    await session.close();
  });

  test('a stranger finds, reads and changes nothing', async () => {
    const stranger = await signUp(system, 'Stranger');
    const session = await connectMcp(system, (await newKey(stranger, everyScope)).key, era);
    expect((await session.call('search', { query: 'gallium' })).text).toContain('Nothing was found.');
    const calls: [string, object][] = [
      ['read', { resource_id: page.id }],
      ['write', { resource_id: page.id, mode: 'append', markdown: 'x' }],
      ['query_rows', { resource_id: table.id }],
      ['comment', { resource_id: page.id, body: 'x' }],
      ['share', { resource_id: page.id, email: 'a@example.com', role: 'viewer' }],
      ['list', { workspace_id: workspace.id }],
      ['call', { operation: 'getWorkspace', arguments: { workspace_id: workspace.id } }],
    ];
    for (const [name, args] of calls)
      expect([name, (await session.call(name, { ...args })).code]).toEqual([name, 'not_found']);
    await session.close();
  });
});
