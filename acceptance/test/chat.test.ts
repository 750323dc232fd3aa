import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { allEvents, type ChatSession, endOfRun, joinText, type Run, streamOf } from '../src/chat.js';
import { type Api, api, type Credential } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { Content, List, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

// Tests chat without a language model, in which replies quote passages. Models are tested in chat-model.test.ts.

let system: System;
let by: Person;
let workspace: Workspace;
let page: Resource;

const MELTING = 'Gallium melts at 29.7646 degrees Celsius, so that it melts in a hand.';

beforeAll(async () => {
  system = await standingSystem();
  by = await signUp(system, 'Asker');
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Metals' })).data;
  page = await write('Gallium', `# Gallium\n\n${MELTING}\n\nIt was discovered in 1875.\n`);
  await findable(by, 'gallium', page.id);
});

async function write(name: string, content: string, more: object = {}): Promise<Resource> {
  const body = { workspace_id: workspace.id, type: 'document', name, content, ...more };
  return (await by.post<Resource>('/resources', body)).data;
}

async function findable(api_: Api, query: string, id: string): Promise<void> {
  await eventually(async () => {
    const { data } = await api_.post<List<{ resource: { id: string } }>>('/search', { query, mode: 'keyword' });
    if (!data.items.some(({ resource }) => resource.id === id)) throw new Error('not found yet');
  });
}

const question = { role: 'user', content: 'At which temperature does gallium melt?' };
const create = (body: object = {}) => by.post<ChatSession>('/chat-sessions', { workspace_id: workspace.id, ...body });
const read = async (id: string, query = '') => (await by.get<ChatSession>(`/chat-sessions/${id}${query}`)).data;

/** Waits until a session is idle again, and returns it. */
async function idle(id: string, query = ''): Promise<ChatSession> {
  return eventually(async () => {
    const session = await read(id, query);
    if (session.status !== 'idle') throw new Error(`it is ${session.status}`);
    return session;
  }, 30_000);
}

describe('a question', () => {
  test('is answered with numbered citations that are literal parts of the content', async () => {
    const { status, data, body } = await create({ messages: [question], respond: true });
    expect([status, data.status, data.title]).toEqual([201, 'responding', 'At which temperature does gallium melt?']);
    expect(body.warnings).toEqual([{ code: 'no_model_configured', message: expect.any(String) }]);
    expect(data.messages.map(({ seq, role, status }) => [seq, role, status])).toEqual([
      [1, 'user', 'complete'],
      [2, 'assistant', 'streaming'],
    ]);
    const { messages, ...session } = await idle(data.id, '?order=asc');
    expect(session).toMatchObject({ active_run_id: null, message_count: 2, model: 'builtin:extractive' });
    const reply = messages[1];
    expect(reply).toMatchObject({
      status: 'complete',
      degraded: true,
      model: 'builtin:extractive',
      run_id: data.run_id,
    });
    expect(reply?.content).toContain('29.7646');
    const { data: text } = await by.get<Content>(`/resources/${page.id}/content?format=text`);
    const cited = reply?.citations ?? [];
    expect(cited.length).toBeGreaterThan(0);
    for (const { marker, snippet, resource_id, content_version, is_stale } of cited) {
      expect(reply?.content).toContain(`[${marker}]`);
      expect([resource_id, content_version, is_stale]).toEqual([page.id, text.version, false]);
      expect(text.content).toContain(snippet);
    }
    const markers = [...new Set([...(reply?.content ?? '').matchAll(/\[(\d+)\]/g)].map((match) => Number(match[1])))];
    expect(markers).toEqual(cited.map(({ marker }) => marker));
    expect(markers).toEqual(markers.map((_, i) => i + 1));
  });

  test('without an answer in the content gets a reply that says so', async () => {
    const { data } = await create({ messages: [{ role: 'user', content: 'xyzzy plugh?' }], respond: true });
    const { messages } = await idle(data.id, '?order=asc');
    expect(messages[1]).toMatchObject({ status: 'complete', citations: [] });
    expect(messages[1]?.content).toMatch(/nothing/);
  });

  test('is answered as a stream whose pieces add up to the stored text', async () => {
    const body = { workspace_id: workspace.id, messages: [question], respond: true };
    const { response, events } = await streamOf(system, by.session, 'POST', '/chat-sessions', body);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const all = await allEvents(events);
    expect(all.map(({ event }) => event).filter((name, i, names) => name !== names[i - 1])).toEqual([
      ...['message.created', 'tool.started', 'tool.finished', 'message.delta', 'citation.added'],
      ...['message.completed', 'run.completed'],
    ]);
    const created = all[0]?.data;
    const messageId = created?.message_id;
    const { messages } = await read(String(created?.session_id));
    const stored = messages.find((message) => message.id === messageId);
    expect(joinText(all)).toBe(stored?.content);
    const ids = all.map((event) => Number(event.id));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    // A finished message is sent as one snapshot, whatever was received before.
    for (const last of [undefined, String(ids[0]), String(ids[4]), 'not-an-id', '999999999999999']) {
      const runId = String(all[0]?.data.run_id);
      const headers = last === undefined ? undefined : { 'Last-Event-ID': last };
      const again = await streamOf(system, by.session, 'GET', `/agent-runs/${runId}/events`, undefined, headers);
      const replayed = await allEvents(again.events);
      expect(replayed.at(-1)?.event).toBe('run.completed');
      expect(joinText(replayed)).toBe(stored?.content);
    }
  });

  test('with a new history is answered as a stream, too', async () => {
    const { data } = await create();
    const body = { title: 'Metals', messages: [question], respond: true };
    const { response, events } = await streamOf(system, by.session, 'PUT', `/chat-sessions/${data.id}`, body);
    expect(response.status).toBe(200);
    const all = await allEvents(events);
    expect(all.at(-1)?.event).toBe('run.completed');
    expect(joinText(all)).toBe((await read(data.id)).messages[0]?.content);
  });

  test('in a session without a reply in progress is a stream that ends at once', async () => {
    const { data } = await create();
    expect((await read(data.id)).messages).toEqual([]);
    const { events } = await streamOf(system, by.session, 'GET', `/chat-sessions/${data.id}`);
    expect((await allEvents(events)).map(({ event, data: about }) => [event, about.session_id])).toEqual([
      ['idle', data.id],
    ]);
  });

  test('is answered only from content that its author may read', async () => {
    const secret = await write('Vault', 'The code of the vault is 7351-gallium.', { access_mode: 'restricted' });
    await findable(by, 'vault', secret.id);
    const other = await signUp(system, 'Other asker');
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: other.user.id, role: 'viewer' });
    const ask = { workspace_id: workspace.id, input: 'What is the code of the vault?' };
    const [mine, theirs] = await Promise.all(
      [by, other].map(async (one) => {
        const { data } = await one.post<Run>('/agent-runs', ask);
        return endOfRun(one, data.id);
      }),
    );
    expect(mine?.output?.text).toContain('7351');
    expect(theirs?.output?.text).not.toContain('7351');
    expect(JSON.stringify(theirs)).not.toContain(secret.id);
  });
});

describe('what other people see of it', () => {
  test('a shared session withholds answers from people who may not read all of their sources', async () => {
    const secret = await write('Payroll', 'The payroll of the smelter is 48,211 a month.', {
      access_mode: 'restricted',
    });
    await findable(by, 'payroll smelter', secret.id);
    const asked = { role: 'user', content: 'What is the payroll of the smelter?' };
    const { data } = await create({ messages: [asked], respond: true, visibility: 'workspace' });
    await idle(data.id);
    const reader = await signUp(system, 'Reader');
    expect((await reader.get(`/chat-sessions/${data.id}`)).status).toBe(404);
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: reader.user.id, role: 'viewer' });
    const { messages } = (await reader.get<ChatSession>(`/chat-sessions/${data.id}?order=asc`)).data;
    expect(messages[0]?.content).toBe(asked.content);
    expect(messages[1]).toEqual({
      ...{ id: expect.any(String), seq: 2, role: 'assistant', withheld: true, reason: 'source_not_readable' },
      created_at: expect.any(String),
    });
    expect((await reader.patch(`/chat-sessions/${data.id}`, { title: 'Mine' })).error.code).toBe('insufficient_role');
    const run = await reader.get(`/agent-runs/${data.run_id}?include=steps`);
    expect(run.text).not.toContain('48,211');
    const { events } = await streamOf(system, reader.session, 'GET', `/agent-runs/${data.run_id}/events`);
    expect(JSON.stringify(await allEvents(events))).not.toContain('48,211');
    expect((await by.get<ChatSession>(`/chat-sessions/${data.id}?order=asc`)).data.messages[1]?.content).toContain(
      '48,211',
    );
  });

  test('its author keeps an answer whose source they lost, unless the workspace withholds it', async () => {
    const place = (await by.post<Workspace>('/workspaces', { name: 'Withheld' })).data;
    const body = {
      workspace_id: place.id,
      type: 'document',
      name: 'Osmium',
      content: 'Osmium is the densest of metals.',
    };
    const source = (await by.post<Resource>('/resources', body)).data;
    await findable(by, 'osmium', source.id);
    const asked = { role: 'user', content: 'Which is the densest of metals, osmium?' };
    const more = { workspace_id: place.id, messages: [asked], respond: true };
    const { data } = await by.post<ChatSession>('/chat-sessions', more);
    await idle(data.id);
    await by.del(`/resources/${source.id}`);
    const reply = async () => (await read(data.id, '?order=asc')).messages[1];
    expect((await reply())?.content).toContain('densest');
    await by.patch(`/workspaces/${place.id}`, { settings: { withhold_on_revoke: true } });
    await eventually(async () =>
      expect(await reply()).toMatchObject({ withheld: true, reason: 'source_not_readable' }),
    );
    const { data: run } = await by.get<Run>(`/agent-runs/${data.run_id}?include=steps`);
    expect([run.output, JSON.stringify(run).includes('densest of metals.')]).toEqual([null, false]);
  });

  test('its stream withholds an answer as the session does', async () => {
    const place = (await by.post<Workspace>('/workspaces', { name: 'Streamed' })).data;
    const other = await signUp(system, 'Streamed asker');
    await by.post(`/workspaces/${place.id}/members`, { user_id: other.user.id, role: 'editor' });
    const own = { type: 'document', name: 'Own', content: 'The alloy of the bell is secret-7731.' };
    const source = (await other.post<Resource>('/resources', own)).data;
    const input = 'What is the alloy of the bell?';
    const ask = { workspace_id: place.id, input, resource_ids: [source.id] };
    const run = await endOfRun(other, (await other.post<Run>('/agent-runs', ask)).data.id);
    expect(run.output?.text).toContain('secret-7731');
    const streamed = async (reader: Credential) => {
      const { events } = await streamOf(system, reader, 'GET', `/agent-runs/${run.id}/events`);
      return JSON.stringify(await allEvents(events));
    };
    // Administrators of the workspace see the run, but not content that only its author may read.
    expect((await by.get(`/agent-runs/${run.id}?include=steps`)).text).not.toContain('secret-7731');
    expect(await streamed(by.session)).not.toContain('secret-7731');
    expect(await streamed(other.session)).toContain('secret-7731');
    await other.del(`/resources/${source.id}`);
    expect(await streamed(other.session)).toContain('secret-7731');
    await by.patch(`/workspaces/${place.id}`, { settings: { withhold_on_revoke: true } });
    await eventually(async () => expect(await streamed(other.session)).not.toContain('secret-7731'));
  });

  test('a citation reports that its content has changed, and hides what its reader lost', async () => {
    const source = await write('Indium', 'Indium is softer than lead and cries when it is bent.');
    await findable(by, 'indium', source.id);
    const { data } = await create({
      messages: [{ role: 'user', content: 'What does indium do when it is bent?' }],
      respond: true,
    });
    const citation = async () => {
      const { messages } = await idle(data.id, '?order=asc');
      return messages[1]?.citations?.find(({ marker }) => marker === 1);
    };
    expect(await citation()).toMatchObject({ resource_id: source.id, is_stale: false });
    await by.patch(`/resources/${source.id}/content`, { content: 'Something else.' });
    expect(await citation()).toMatchObject({ resource_id: source.id, is_stale: true });
    await by.del(`/resources/${source.id}`);
    expect(await citation()).toEqual({ marker: 1, hidden: true });
  });

  test('a key of one workspace gets no answer from another one, whatever the session names', async () => {
    const place = (await by.post<Workspace>('/workspaces', { name: 'Limited' })).data;
    const more = { workspace_id: place.id, context: { resource_ids: [page.id] }, messages: [question], respond: true };
    const { data } = await by.post<ChatSession>('/chat-sessions', more);
    expect((await idle(data.id, '?order=asc')).messages[1]?.content).toContain('29.7646');
    const scopes = ['chat_session:read', 'chat_session:write', 'agent_run:read', 'search:read', 'content:read'];
    const key = await newKey(by, scopes, { workspace_ids: [place.id] });
    const limited = api(system, key.key);
    expect((await limited.get(`/chat-sessions/${data.id}`)).text).not.toContain('29.7646');
    const again = { append_messages: [question], respond: true };
    const { data: asked } = await limited.patch<ChatSession>(`/chat-sessions/${data.id}`, again);
    const run = await endOfRun(limited, String(asked.run_id));
    expect([run.status, JSON.stringify(run).includes('29.7646')]).toEqual(['completed', false]);
  });

  test('a key without scopes for reading gets no answer from content', async () => {
    const key = await newKey(by, ['chat_session:write', 'chat_session:read', 'agent_run:read']);
    const limited = api(system, key.key);
    const body = { workspace_id: workspace.id, messages: [question], respond: true };
    const { data } = await limited.post<ChatSession>('/chat-sessions', body);
    const run = await endOfRun(limited, String(data.run_id));
    expect([run.status, run.output?.citations]).toEqual(['completed', []]);
    expect(run.output?.text).not.toContain('29.7646');
  });
});

describe('messages', () => {
  test('are numbered without gaps, paged in both directions, and numbers are not reused', async () => {
    const history = Array.from({ length: 7 }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user',
      content: `Message ${i + 1}`,
    }));
    const { data } = await create({ messages: history });
    expect(data.messages.every(({ imported }) => imported)).toBe(true);
    const seqs = async (query: string) => (await read(data.id, query)).messages.map(({ seq }) => seq);
    expect(await seqs('')).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect(await seqs('?limit=2')).toEqual([7, 6]);
    expect(await seqs('?before_seq=4&limit=2')).toEqual([3, 2]);
    expect(await seqs('?after_seq=4')).toEqual([5, 6, 7]);
    expect(await seqs('?order=asc&limit=3')).toEqual([1, 2, 3]);
    expect((await by.get(`/chat-sessions/${data.id}?after_seq=1&before_seq=3`)).status).toBe(400);
    const put = { title: 'Anew', messages: [{ role: 'user', content: 'Only this' }] };
    const { data: replaced } = await by.send<ChatSession>('PUT', `/chat-sessions/${data.id}`, put);
    expect([replaced.title, replaced.message_count, replaced.messages.map(({ seq }) => seq)]).toEqual(['Anew', 1, [8]]);
    expect(await seqs('')).toEqual([8]);
    expect(await seqs('?include=superseded&order=asc')).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    // No run has replaced them.
    const replacedBy = (await read(data.id, '?include=superseded')).messages.map((one) => one.superseded_by_run_id);
    expect(replacedBy).toEqual(Array(8).fill(null));
  });

  test('are answered again, which replaces everything after the question', async () => {
    const { data } = await create({ messages: [question], respond: true });
    await idle(data.id);
    const { data: again } = await by.patch<ChatSession>(`/chat-sessions/${data.id}`, { regenerate_from_seq: 2 });
    expect(again.messages.map(({ seq }) => seq)).toEqual([3]);
    const { messages, message_count } = await idle(data.id, '?order=asc');
    expect([messages.map(({ seq }) => seq), message_count]).toEqual([[1, 3], 2]);
    expect(messages[1]?.content).toContain('29.7646');
    const all = await read(data.id, '?include=superseded&order=asc');
    expect(all.messages.map((one) => one.superseded_by_run_id)).toEqual([null, again.run_id, null]);
    expect(all.messages.map(({ error }) => error)).toEqual([null, null, null]);
    const bad = await by.patch(`/chat-sessions/${data.id}`, { regenerate_from_seq: 99 });
    expect([bad.status, bad.error.param]).toEqual([400, 'regenerate_from_seq']);
  });

  test('of clients have a role, a text or parts, and a maximum length', async () => {
    const { data } = await create();
    const add = (content: unknown, role = 'user') =>
      by.patch<ChatSession>(`/chat-sessions/${data.id}`, { append_messages: [{ role, content }] });
    const parts = [
      { type: 'text', text: 'See this' },
      { type: 'file', resource_id: page.id },
    ];
    expect((await add(parts)).data.messages[0]?.content).toBe(`See this\n\n[file](resource:${page.id})`);
    const record = [
      { type: 'tool_call', name: 'search', arguments: { query: 'zinc' } },
      { type: 'tool_result', content: 'a ``` b' },
      { type: 'citation', resource_id: page.id },
    ];
    expect((await add(record)).data.messages[0]?.content).toBe(
      `\`\`\`\nsearch {"query":"zinc"}\n\`\`\`\n\n\`\`\`\`\na \`\`\` b\n\`\`\`\`\n\n[source](resource:${page.id})`,
    );
    const ticks = { type: 'tool_result', content: '` '.repeat(9_990) };
    expect((await add([ticks])).data.messages[0]?.content).toBe(`\`\`\`\n${ticks.content}\n\`\`\``);
    for (const [content, role, param] of [
      [[{ ...ticks, content: '` '.repeat(200_000) }], 'user', 'append_messages[0].content'],
      ['Mine', 'assistant', 'append_messages[0].role'],
      ['', 'user', 'append_messages[0].content'],
      ['x'.repeat(20_001), 'user', 'append_messages[0].content'],
      [[], 'user', 'append_messages[0].content'],
      [[{ type: 'video' }], 'user', 'append_messages[0].content'],
      [[null], 'user', 'append_messages[0].content'],
      [[{ type: 'tool_call' }], 'user', 'append_messages[0].content'],
      [[{ type: 'citation', resource_id: 'x' }], 'user', 'append_messages[0].content'],
      [42, 'user', 'append_messages[0].content'],
    ] as const) {
      const { status, error } = await add(content, role);
      expect([status, error.param]).toEqual([400, param]);
    }
    expect((await read(data.id)).message_count).toBe(3);
  });
});

describe('two concurrent questions', () => {
  test('one is answered, the other is a conflict', async () => {
    const { data } = await create();
    const ask = { append_messages: [{ content: question.content }], respond: true };
    const answers = await Promise.all(Array.from({ length: 4 }, () => by.patch(`/chat-sessions/${data.id}`, ask)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, error }) => [status, error.code])).toEqual(
      refused.map(() => [409, 'reply_in_progress']),
    );
    const { messages } = await idle(data.id, '?order=asc');
    const answered = answers.length - refused.length;
    expect(answered).toBeGreaterThan(0);
    expect(messages.map(({ seq }) => seq)).toEqual(Array.from({ length: 2 * answered }, (_, i) => i + 1));
  });
});

describe('a session', () => {
  test('is changed, archived, found and deleted', async () => {
    const { data } = await create({ title: 'Plans for zinc' });
    const path = `/chat-sessions/${data.id}`;
    // Null means the default model and the built-in assistant.
    expect((await by.patch<ChatSession>(path, { model: null, agent_id: null })).data.model).toBe(data.model);
    const etag = (await by.get(path)).headers.get('etag') ?? '';
    const changed = await by.patch<ChatSession>(path, {
      is_archived: true,
      context: { resource_ids: [page.id], search: false },
    });
    expect(changed.data).toMatchObject({ is_archived: true, context: { resource_ids: [page.id], search: false } });
    const context = async (part: object) => (await by.patch<ChatSession>(path, { context: part })).data.context;
    expect(await context({ search: true })).toEqual({ resource_ids: [page.id], search: true });
    expect(await context({ resource_ids: [] })).toEqual({ resource_ids: [], search: true });
    expect(await context({ search: false })).toEqual({ resource_ids: [], search: false });
    const listed = async (query: string) =>
      (await by.get<List<ChatSession>>(`/chat-sessions?workspace_id=${workspace.id}&${query}`)).data.items.map(
        ({ id }) => id,
      );
    expect(await listed('q=zinc')).toEqual([data.id]);
    expect(await listed('q=zinc&is_archived=false')).toEqual([]);
    expect((await by.patch(path, {})).error.code).toBe('no_update_field');
    expect((await by.patch(path, { title: 'x' }, { headers: { 'If-Match': etag } })).status).toBe(409);
    const moved = await by.send('PUT', path, { title: 'x', workspace_id: randomUUID() });
    expect([moved.status, moved.error.param]).toEqual([400, 'workspace_id']);
    expect((await by.del(path)).data).toEqual({ id: data.id, deleted: true });
    expect((await by.get(path)).status).toBe(404);
  });

  test('in an archived workspace is read-only', async () => {
    const { data: place } = await by.post<Workspace>('/workspaces', { name: 'Closed' });
    const { data } = await create({ workspace_id: place.id, title: 'Before' });
    const path = `/chat-sessions/${data.id}`;
    await by.post(`/workspaces/${place.id}/archive`, {});
    const refused = [await by.patch(path, { title: 'After' }), await by.del(path)];
    expect(refused.map(({ error }) => error.code)).toEqual(['workspace_archived', 'workspace_archived']);
    expect((await by.get<ChatSession>(path)).data.title).toBe('Before');
    await by.post(`/workspaces/${place.id}/archive`, { mode: 'unarchive' });
    expect((await by.del(path)).status).toBe(200);
  });

  test('that is deleted takes the texts of its runs with it', async () => {
    const { data } = await create({ messages: [question], respond: true });
    await idle(data.id);
    await by.del(`/chat-sessions/${data.id}`);
    const run = await eventually(async () => {
      const { data: found } = await by.get<Run>(`/agent-runs/${data.run_id}?include=steps`);
      if (found.input !== null) throw new Error('not erased yet');
      return found;
    });
    expect([run.output, run.session_id, run.usage.output_tokens > 0]).toEqual([null, null, true]);
    expect(JSON.stringify(run.steps)).not.toContain('29.7646');
  });

  test.each([
    ['two places', { org_id: randomUUID() }, 400, 'ambiguous_target'],
    ['a workspace that is not there', { workspace_id: randomUUID() }, 404, 'not_found'],
    ['an unknown model', { model: 'gpt-none' }, 404, 'not_found'],
    ['an unknown agent', { agent_id: randomUUID() }, 404, 'not_found'],
    ['a context that is not there', { context: { resource_ids: [randomUUID()] } }, 404, 'not_found'],
    ['a reply to nothing', { respond: true }, 400, 'missing_field'],
    ['a reply to a reply', { respond: true, messages: [{ role: 'assistant', content: 'Hi' }] }, 400, 'missing_field'],
  ])('is refused with %s', async (_, body, status, code) => {
    const before = (await by.get<List<ChatSession>>('/chat-sessions?limit=100')).page.total;
    const answer = await create(body);
    expect([answer.status, answer.error.code]).toEqual([status, code]);
    expect((await by.get<List<ChatSession>>('/chat-sessions?limit=100')).page.total).toBe(before);
  });
});

describe('a run', () => {
  test('can be awaited, is listed, and shows its steps', async () => {
    const { status, data } = await by.post<Run>('/agent-runs', {
      ...{
        workspace_id: workspace.id,
        input: { text: question.content, attachments: [page.id] },
        metadata: { case: 7 },
      },
      wait_seconds: 5,
    });
    expect([status, data.source]).toEqual([201, 'api']);
    const run = await endOfRun(by, data.id);
    expect((await by.get(`/agent-runs/${data.id}`)).headers.get('retry-after')).toBeNull();
    expect(run).toMatchObject({ status: 'completed', error: null, metadata: { case: 7 } });
    expect(run.steps?.map(({ type, name, status: state }) => [type, name, state])).toEqual([
      ['tool_call', 'search', 'completed'],
      ['message', 'builtin:extractive', 'completed'],
    ]);
    expect(run.output?.resource_ids).toEqual([page.id]);
    const { data: waited } = await by.get<Run>(`/agent-runs/${data.id}?wait_seconds=15`);
    expect(waited.status).toBe('completed');
    const { items } = (await by.get<List<Run>>(`/agent-runs?workspace_id=${workspace.id}&status=completed&source=api`))
      .data;
    expect(items.map(({ id }) => id)).toContain(data.id);
    const { data: events } = await by.get<List<{ type: string }>>(`/agent-runs/${data.id}/events`);
    expect(events.items.map(({ type }) => type)).toEqual([
      ...['message.created', 'tool.started', 'tool.finished', 'message.completed', 'run.completed'],
    ]);
  });

  test('in a session adds question and answer to it', async () => {
    const { data: session } = await create();
    const { data } = await by.post<Run>('/agent-runs', { session_id: session.id, input: question.content });
    expect((await endOfRun(by, data.id)).session_id).toBe(session.id);
    const { messages } = await read(session.id, '?order=asc');
    expect(messages.map(({ role, run_id }) => [role, run_id])).toEqual([
      ['user', null],
      ['assistant', data.id],
    ]);
  });

  test('in a session needs a key that may write to sessions', async () => {
    const { data: session } = await create();
    const key = await newKey(by, ['agent_run:write']);
    const answer = await api(system, key.key).post('/agent-runs', { session_id: session.id, input: 'Anything?' });
    expect([answer.status, answer.error.code]).toEqual([403, 'insufficient_scope']);
    expect((await read(session.id)).message_count).toBe(0);
  });

  test('has one effect for one Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const body = { workspace_id: workspace.id, input: question.content };
    const [first, second] = [
      await by.post<Run>('/agent-runs', body, { headers }),
      await by.post<Run>('/agent-runs', body, { headers }),
    ];
    expect(second.data.id).toBe(first.data.id);
  });

  test.each([
    ['no input', {}, 'missing_field'],
    ['an empty input', { input: ' ' }, 'missing_field'],
    ['an input without text', { input: { attachments: [] } }, 'missing_field'],
    ['unknown fields of the input', { input: { text: 'x', more: 1 } }, 'unknown_field'],
    ['credits that are none', { input: 'x', max_credits: '1.0000001' }, 'invalid_value'],
    [
      'a schema that refers elsewhere',
      { input: 'x', output_schema: { $ref: 'https://example.org/s' } },
      'invalid_output_schema',
    ],
    ['a schema with a pattern that is none', { input: 'x', output_schema: { pattern: '(' } }, 'invalid_output_schema'],
    ['a schema of an unknown type', { input: 'x', output_schema: { type: 'banana' } }, 'invalid_output_schema'],
    ['a run that is not there', { retry_of: randomUUID() }, 'not_found'],
    ['resources that are not there', { input: 'x', resource_ids: [randomUUID()] }, 'not_found'],
  ])('is refused with %s', async (_, body, code) => {
    const { status, error } = await by.post('/agent-runs', { workspace_id: workspace.id, ...body });
    expect([status >= 400 && status < 500, error.code]).toEqual([true, code]);
  });

  test('that has completed can neither be cancelled nor repeated', async () => {
    const { data } = await by.post<Run>('/agent-runs', { workspace_id: workspace.id, input: question.content });
    await endOfRun(by, data.id);
    expect((await by.post(`/agent-runs/${data.id}/cancel`, {})).error.code).toBe('run_not_cancelable');
    expect((await by.post('/agent-runs', { retry_of: data.id })).error.code).toBe('run_not_retryable');
    const schema = { workspace_id: workspace.id, input: 'x', output_schema: { type: 'object' } };
    expect((await by.post('/agent-runs', schema)).error.code).toBe('model_not_configured');
  });
});
