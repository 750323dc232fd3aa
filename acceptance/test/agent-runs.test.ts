import { type ChatServer, failures, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Agent, newAgent, putSkills, putWorkspaces } from '../src/agents.js';
import { allEvents, type ChatSession, endOfRun, type Run, streamOf } from '../src/chat.js';
import type { Api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type Person, signUp } from '../src/people.js';
import type { Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import { type OwnSystem, startSystem } from '../src/system.js';

// Tests runs of agents. The model is a double with scripted replies.

let model: ChatServer;
let system: OwnSystem;
let owner: Person;
/** A viewer of the workspace. */
let user: Person;
let workspace: Workspace;
let page: Resource;

const MODEL = {
  context_tokens: 8000,
  max_output_tokens: 1000,
  credit_rates: { input_per_1k: '1', output_per_1k: '2' },
};

beforeAll(async () => {
  model = await openChatServer();
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: JSON.stringify([
      { id: 'scripted', ...MODEL },
      { id: 'second', ...MODEL },
    ]),
    COMMONPLACE_CHAT_IDLE_SECONDS: '5',
    COMMONPLACE_RUNS_PER_AGENT: '2',
  });
  [owner, user] = await Promise.all([signUp(system, 'Owner'), signUp(system, 'User')]);
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Metals' })).data;
  await owner.post(`/workspaces/${workspace.id}/members`, { user_id: user.user.id, role: 'viewer' });
  page = await write('Gallium', 'Gallium melts at 29.76 degrees.');
}, 180_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
});

beforeEach(() => model.reset());

async function write(name: string, content: string, more: object = {}): Promise<Resource> {
  const body = { workspace_id: workspace.id, type: 'document', name, content, ...more };
  return (await owner.post<Resource>('/resources', body)).data;
}

const QUESTION = 'At which temperature does it melt?';
const make = (body: object = {}) => newAgent(owner, { visibility: 'workspace', ...body }, [workspace.id]);
const begin = (by: Api, agent: Agent, more: object = {}) =>
  by.post<AgentRun>('/agent-runs', { agent_id: agent.id, input: QUESTION, ...more });

interface AgentRun extends Run {
  readonly agent_id: string | null;
  readonly agent_version: number | null;
  readonly workspace_id: string;
  readonly work_item_id: string | null;
}

async function run(by: Api, agent: Agent, more: object = {}): Promise<AgentRun> {
  const { data } = await begin(by, agent, more);
  return (await endOfRun(by, data.id)) as AgentRun;
}

interface Request {
  readonly model: string;
  readonly temperature?: number;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

const requests = () => model.calls.map(({ request }) => request as unknown as Request);
const systemText = (i = 0) => requests()[i]?.messages[0]?.content ?? '';
const toolNames = (i = 0) => (requests()[i]?.tools ?? []).map((tool) => tool.function.name).sort();

describe('a run of an agent', () => {
  test('receives its instructions, with its model, temperature and tools, in its only workspace', async () => {
    const agent = await make({
      instructions: 'Answer as a smith.',
      model: 'second',
      temperature: 0.5,
      tools: ['read'],
    });
    model.next({ text: 'Hot.' });
    const ended = await run(user, agent);
    expect(ended).toMatchObject({
      ...{ status: 'completed', agent_id: agent.id, agent_version: 1, workspace_id: workspace.id, model: 'second' },
      initiator: { id: user.user.id },
    });
    expect(requests()[0]).toMatchObject({ model: 'second', temperature: 0.5 });
    expect(systemText()).toContain('Answer as a smith.');
    expect(toolNames()).toEqual(['read']);
    expect((await owner.get<Agent>(`/agents/${agent.id}`)).data.last_run_at).not.toBeNull();
    const listed = await user.get<{ items: Run[] }>(`/agent-runs?agent_id=${agent.id}`);
    expect(listed.data.items.map(({ id }) => id)).toEqual([ended.id]);
  });

  test('keeps its version while the agent changes, and a new run has the current one', async () => {
    const agent = await make({ instructions: 'First.' });
    model.next({ text: '', toolCalls: [{ id: 'a', name: 'read', arguments: { resource_id: page.id } }], delayMs: 300 });
    model.next({ text: 'Done [1].' });
    const { data } = await begin(user, agent);
    await eventually(() => expect(model.calls.length).toBe(1));
    await owner.patch(`/agents/${agent.id}`, { instructions: 'Second.' });
    const ended = await endOfRun(user, data.id);
    expect([ended.status, systemText(1).includes('First.'), systemText(1).includes('Second.')]).toEqual([
      'completed',
      true,
      false,
    ]);
    model.reset();
    model.next(failures.wrongKey());
    const failed = await run(user, agent);
    expect([failed.status, failed.agent_version]).toEqual(['failed', 3]);
    await owner.patch(`/agents/${agent.id}`, { instructions: 'Third.' });
    model.next({ text: 'Again.' });
    const { data: again } = await user.post<AgentRun>('/agent-runs', { retry_of: failed.id });
    expect([again.agent_id, again.agent_version, again.retry_of]).toEqual([agent.id, 4, failed.id]);
    expect((await endOfRun(user, again.id)).output?.text).toBe('Again.');
    expect(systemText(1)).toContain('Third.');
    const other = await make();
    const mixed = await user.post('/agent-runs', { retry_of: failed.id, agent_id: other.id });
    expect(mixed.error).toMatchObject({ code: 'ambiguous_target', param: 'agent_id' });
  });

  test('leaves its work item when it is repeated in another workspace', async () => {
    const { data: elsewhere } = await owner.post<Workspace>('/workspaces', { name: 'Elsewhere' });
    const agent = await newAgent(owner, {}, [workspace.id, elsewhere.id]);
    const work = { workspace_id: workspace.id, title: 'Melt it' };
    const { data: item } = await owner.post<{ id: string }>('/work-items', work);
    model.next(failures.wrongKey());
    const failed = await run(owner, agent, { work_item_id: item.id });
    expect([failed.status, failed.work_item_id]).toEqual(['failed', item.id]);
    const again = async (more: object) => {
      model.next({ text: 'Again.' });
      const { data } = await owner.post<AgentRun>('/agent-runs', { retry_of: failed.id, ...more });
      await endOfRun(owner, data.id);
      return [data.workspace_id, data.work_item_id];
    };
    expect(await again({})).toEqual([workspace.id, item.id]);
    expect(await again({ workspace_id: elsewhere.id })).toEqual([elsewhere.id, null]);
  });

  test('calls no tool that its agent has lost meanwhile', async () => {
    const agent = await make();
    const call = { name: 'read', arguments: { resource_id: page.id } };
    model.next(
      { toolCalls: [{ id: 'a', ...call }], delayMs: 300 },
      { toolCalls: [{ id: 'b', ...call }] },
      { text: 'Done.' },
    );
    const { data } = await begin(user, agent);
    await eventually(() => expect(model.calls.length).toBe(1));
    await owner.patch(`/agents/${agent.id}`, { tools: ['search'] });
    const { steps = [] } = await endOfRun(user, data.id);
    const reads = steps.filter(({ name }) => name === 'read');
    expect(reads.length).toBe(2);
    expect(reads.every(({ status }) => status !== 'completed')).toBe(true);
  });

  test('has the stricter limits of its own and of the agent', async () => {
    const agent = await make({ limits: { max_steps: 2, max_credits_per_run: '0.5' } });
    model.next({ toolCalls: [{ id: 'a', name: 'read', arguments: { resource_id: page.id } }] }, { text: 'Never.' });
    const ended = await run(user, agent, { max_steps: 40 });
    expect(ended.status).toBe('failed');
    expect(['step_limit', 'credit_limit']).toContain(ended.error?.code);
  });

  test('always has the pinned content, as far as both it and its person may read it', async () => {
    const secret = await write('Vault', 'The code is 7351.', { access_mode: 'restricted' });
    const agent = await make({ tools: [] });
    for (const { id } of [page, secret]) await owner.post(`/agents/${agent.id}/pins`, { resource_id: id });
    model.next({ text: 'Before.' }, { text: 'Mine.' }, { text: 'Theirs.' });
    await run(owner, agent);
    const grant = { principal_type: 'agent', principal_id: agent.id, role: 'viewer' };
    expect((await owner.post(`/resources/${secret.id}/permissions`, grant)).status).toBe(201);
    await run(owner, agent);
    await run(user, agent);
    const [before, mine, theirs] = requests().map(({ messages }) => JSON.stringify(messages));
    expect([before?.includes('29.76'), before?.includes('7351')]).toEqual([true, false]);
    expect([mine?.includes('29.76'), mine?.includes('7351')]).toEqual([true, true]);
    expect([theirs?.includes('29.76'), theirs?.includes('7351')]).toEqual([true, false]);
  });

  test('reports that the oldest messages did not fit', async () => {
    const agent = await make({ instructions: 'Be brief.' });
    const long = Array.from({ length: 40 }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user',
      content: `${i} ${'word '.repeat(300)}`,
    }));
    model.next({ text: 'Short.' });
    const { data } = await user.post<ChatSession>('/chat-sessions', {
      ...{ workspace_id: workspace.id, agent_id: agent.id, respond: true },
      messages: [...long, { role: 'user', content: QUESTION }],
    });
    expect(data).toMatchObject({ agent_id: agent.id });
    await endOfRun(user, String(data.run_id));
    const { body } = await user.get<AgentRun>(`/agent-runs/${data.run_id}`);
    expect(body.warnings).toEqual([
      { code: 'context_truncated', message: expect.any(String), details: { dropped_messages: expect.any(Number) } },
    ]);
    // People who read the session, or follow the reply, see it too.
    const session = await user.get<ChatSession>(`/chat-sessions/${data.id}?limit=1`);
    expect(session.body.warnings).toEqual(body.warnings);
    const dropped = body.warnings?.[0]?.details?.dropped_messages;
    expect(session.data.messages[0]?.dropped_messages).toBe(dropped);
    const { events } = await streamOf(system, user.session, 'GET', `/agent-runs/${data.run_id}`);
    const completed = (await allEvents(events)).find(({ event }) => event === 'message.completed');
    expect(completed?.data).toMatchObject({ dropped_messages: dropped });
    model.next({ text: 'Fits.' });
    await user.patch(`/chat-sessions/${data.id}`, { regenerate_from_seq: 1, respond: true });
    await eventually(async () => {
      const fits = await user.get<ChatSession>(`/chat-sessions/${data.id}`);
      expect([fits.data.status, fits.body.warnings ?? []]).toEqual(['idle', []]);
    });
    expect(systemText()).toContain('Be brief.');
    expect(requests()[0]?.messages.at(-1)?.content).toContain(QUESTION);
  });
});

describe('running an agent', () => {
  const outcome = async (by: Api, agent: Agent, more: object = {}) => {
    const { status, body } = await begin(by, agent, more);
    return [status, body.error?.code];
  };

  test('is allowed to its owner, and to people whom its visibility covers', async () => {
    const stranger = await signUp(system, 'Stranger');
    const [mine, shared] = [await make({ visibility: 'private' }), await make()];
    expect(await outcome(user, mine)).toEqual([404, 'not_found']);
    expect(await outcome(stranger, shared)).toEqual([404, 'not_found']);
    model.next({ text: 'One.' }, { text: 'Two.' });
    expect((await run(owner, mine)).status).toBe('completed');
    expect((await run(user, shared)).status).toBe('completed');
  });

  test('is possible in a workspace with both of them', async () => {
    const other = (await owner.post<Workspace>('/workspaces', { name: 'Other' })).data;
    const agent = await make();
    expect(await outcome(owner, agent, { workspace_id: other.id })).toEqual([400, 'invalid_value']);
    await putWorkspaces(owner, agent.id, { workspace_ids: [workspace.id, other.id] });
    expect(await outcome(owner, agent)).toEqual([400, 'workspace_required']);
    expect(await outcome(user, agent, { workspace_id: other.id })).toEqual([404, 'not_found']);
    model.next({ text: 'Here.' });
    // The person is a member of one of the agent's workspaces.
    expect(await run(user, agent)).toMatchObject({ status: 'completed', workspace_id: workspace.id });
    await putWorkspaces(owner, agent.id, { workspaces: [] });
    expect(await outcome(owner, agent)).toEqual([400, 'workspace_required']);
  });

  test('reads nothing that the person may not read', async () => {
    const secret = await write('Safe', 'The combination is 8462.', { access_mode: 'restricted' });
    const agent = await make();
    const call = { id: 'a', name: 'read', arguments: { resource_id: secret.id } };
    model.next({ toolCalls: [call] }, { text: 'I could not read it.' });
    const { steps = [] } = await run(user, agent);
    expect(JSON.stringify([steps, requests()])).not.toContain('8462');
  });

  test('reads nothing that the author of the automation which started it may not read', async () => {
    const writer = await signUp(system, 'Writer');
    await owner.post(`/workspaces/${workspace.id}/members`, { user_id: writer.user.id, role: 'editor' });
    const secret = await write('Strongbox', 'The word is sesame9.', { access_mode: 'restricted' });
    const agent = await make();
    const grant = { principal_type: 'agent', principal_id: agent.id, role: 'viewer' };
    expect((await owner.post(`/resources/${secret.id}/permissions`, grant)).status).toBe(201);
    const config = { agent_id: agent.id, input: QUESTION };
    const { data: automation } = await writer.post<{ id: string }>('/automations', {
      ...{ name: 'Lent', workspace_id: workspace.id, run_as: 'triggering_user', trigger: { type: 'manual' } },
      actions: [{ type: 'run_agent', config }],
    });
    const call = { id: 'a', name: 'read', arguments: { resource_id: secret.id } };
    model.next({ toolCalls: [call] }, { text: 'I could not read it.' });
    const { data: begun } = await owner.post<{ id: string }>(`/automations/${automation.id}/run`, {});
    await eventually(async () => {
      const { data } = await owner.get<{ status: string }>(`/automations/${automation.id}/runs/${begun.id}`);
      expect(data.status).toBe('completed');
    });
    expect(model.calls).toHaveLength(2);
    expect(JSON.stringify(requests())).not.toContain('sesame9');
    // The same words reach the agent if the owner runs it.
    model.next({ toolCalls: [call] }, { text: 'Read.' });
    await run(owner, agent);
    expect(JSON.stringify(requests())).toContain('sesame9');
  });

  test('is refused while it is paused', async () => {
    const agent = await make();
    await owner.patch(`/agents/${agent.id}`, { status: 'paused' });
    expect(await outcome(user, agent)).toEqual([409, 'agent_paused']);
    const ask = { workspace_id: workspace.id, agent_id: agent.id, respond: true };
    const { error } = await user.post('/chat-sessions', { ...ask, messages: [{ role: 'user', content: QUESTION }] });
    expect(error.code).toBe('agent_paused');
  });
});

describe('a running run', () => {
  const call = { id: 'a', name: 'read', arguments: '{}' };

  test('ends without its rights when the agent is paused', async () => {
    const agent = await make();
    model.next({ toolCalls: [call], delayMs: 300 }, { text: 'Never.' });
    const { data } = await begin(user, agent);
    await eventually(() => expect(model.calls.length).toBe(1));
    await owner.patch(`/agents/${agent.id}`, { status: 'paused' });
    const ended = await endOfRun(user, data.id);
    expect([ended.status, ended.error?.code, model.calls.length]).toEqual(['failed', 'permission_lost', 1]);
  });

  test('ends without its rights when its person may no longer use the agent', async () => {
    const agent = await make();
    model.next({ toolCalls: [call], delayMs: 300 }, { text: 'Never.' });
    const { data } = await begin(user, agent);
    await eventually(() => expect(model.calls.length).toBe(1));
    await owner.patch(`/agents/${agent.id}`, { visibility: 'private' });
    const ended = await endOfRun(user, data.id);
    expect([ended.status, ended.error?.code]).toEqual(['failed', 'permission_lost']);
  });

  test('is canceled when the agent is deleted, and so are waiting ones', async () => {
    const agent = await make();
    const long = { text: 'word '.repeat(400), delayMs: 50 };
    model.next(long, long);
    const all = await Promise.all([begin(user, agent), begin(user, agent), begin(user, agent)]);
    await eventually(() => expect(model.calls.length).toBe(2));
    await owner.del(`/agents/${agent.id}`);
    for (const { data } of all) expect((await endOfRun(user, data.id)).status).toBe('canceled');
    expect((await user.get<AgentRun>(`/agent-runs/${all[0]?.data.id}`)).data.agent_id).toBe(agent.id);
  });

  test('is canceled by the owner of the agent, who sees none of its content', async () => {
    const [maker, asker] = await Promise.all([signUp(system, 'Maker'), signUp(system, 'Asker')]);
    const place = (await owner.post<Workspace>('/workspaces', { name: 'Shared' })).data;
    for (const { id } of [maker.user, asker.user]) {
      await owner.post(`/workspaces/${place.id}/members`, { user_id: id, role: 'viewer' });
    }
    const agent = await newAgent(maker, { visibility: 'workspace' }, [place.id]);
    model.next({ text: 'word '.repeat(400), delayMs: 50 });
    const { data } = await begin(asker, agent);
    await eventually(() => expect(model.calls.length).toBe(1));
    expect((await maker.get(`/agent-runs/${data.id}`)).status).toBe(404);
    const canceled = await maker.post<AgentRun>(`/agent-runs/${data.id}/cancel`, {});
    expect([canceled.status, canceled.data.input, canceled.data.output]).toEqual([200, null, null]);
    expect((await endOfRun(asker, data.id)).status).toBe('canceled');
  });
});

describe('a chat with an agent', () => {
  test('continues with it from turn to turn, and with another one after a change', async () => {
    const [first, second] = [await make({ instructions: 'I am first.' }), await make({ instructions: 'I am second.' })];
    const messages = [{ role: 'user', content: QUESTION }];
    model.next({ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' });
    const body = { workspace_id: workspace.id, agent_id: first.id, messages, respond: true };
    const { data } = await user.post<ChatSession>('/chat-sessions', body);
    await endOfRun(user, String(data.run_id));
    const path = `/chat-sessions/${data.id}`;
    const more = { append_messages: [{ content: 'And then?' }], respond: true };
    const next = await user.patch<ChatSession>(path, { ...more, agent_id: second.id });
    const ended = (await endOfRun(user, String(next.data.run_id))) as AgentRun;
    expect(ended.agent_id).toBe(second.id);
    expect([systemText(0).includes('I am first.'), systemText(1).includes('I am second.')]).toEqual([true, true]);
    const replaced = await user.send<ChatSession & { agent_id: string | null }>('PUT', path, { title: 'Plain' });
    expect(replaced.data.agent_id).toBeNull();
    const plain = await user.patch<ChatSession>(path, more);
    expect(((await endOfRun(user, String(plain.data.run_id))) as AgentRun).agent_id).toBeNull();
  });

  test('is for people who may use it, in its workspaces', async () => {
    const agent = await make({ visibility: 'private' });
    const create = (by: Api, body: object) => by.post('/chat-sessions', { agent_id: agent.id, ...body });
    expect((await create(user, { workspace_id: workspace.id })).error).toMatchObject({
      code: 'not_found',
      param: 'agent_id',
    });
    const other = (await owner.post<Workspace>('/workspaces', { name: 'Elsewhere' })).data;
    expect((await create(owner, { workspace_id: other.id })).error.param).toBe('workspace_id');
    expect((await create(owner, { workspace_id: workspace.id })).status).toBe(201);
  });
});

describe('skills', () => {
  const inline = {
    ...{ name: 'release-notes', description: 'Writes release notes.', content: 'List what users can see.' },
    ...{ files: [{ path: 'style.md', content: 'Short sentences.' }], allowed_tools: ['search'] },
  };

  test('are listed by name and description, and loaded on use', async () => {
    const agent = await make({ tools: [] });
    await putSkills(owner, agent.id, [inline, { ...inline, name: 'off', is_enabled: false }]);
    const use = (id: string, args: object) => ({ id, name: 'skill', arguments: args });
    model.next(
      { toolCalls: [use('a', { name: 'release-notes' }), use('b', { name: 'release-notes', file: 'style.md' })] },
      { toolCalls: [use('c', { name: 'off' }), use('d', { name: 'release-notes', file: '../../etc/passwd' })] },
      { text: 'Done.' },
    );
    const ended = await run(user, agent);
    expect(ended.status).toBe('completed');
    expect(toolNames()).toEqual(['skill']);
    expect(systemText()).toContain('- release-notes: Writes release notes.');
    expect(systemText()).not.toMatch(/List what users|Short sentences|- off:/);
    const results = requests()
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool')
      .map(({ content }) => content);
    expect(results?.[0]).toContain('List what users can see.');
    expect(results?.[0]).toContain('style.md');
    expect(results?.[1]).toBe('Short sentences.');
    expect(ended.steps?.filter(({ name }) => name === 'skill').map(({ status }) => status)).toEqual([
      ...['completed', 'completed', 'failed', 'failed'],
    ]);
  });

  test('are those of the run’s version', async () => {
    const agent = await make();
    await putSkills(owner, agent.id, [inline]);
    const load = { id: 'a', name: 'skill', arguments: { name: 'release-notes' } };
    model.next({ text: '', toolCalls: [load], delayMs: 300 }, { text: 'Done.' });
    const { data } = await begin(user, agent);
    await eventually(() => expect(model.calls.length).toBe(1));
    await putSkills(owner, agent.id, [{ ...inline, content: 'Something else.' }]);
    await endOfRun(user, data.id);
    expect(JSON.stringify(requests()[1])).toContain('List what users can see.');
  });

  test('from a document are read live, by people who may read it', async () => {
    const guide = await write('Guide', 'Write the date first.');
    const secret = await write('Secret guide', 'Mention 5521.', { access_mode: 'restricted' });
    const agent = await make({ tools: [] });
    await putSkills(owner, agent.id, [
      { name: 'guide', description: 'Guides.', resource_id: guide.id },
      { name: 'secret', description: 'Guides in secret.', resource_id: secret.id },
    ]);
    const text = { mode: 'replace', content: 'Write the place first.' };
    const changed = await owner.patch(`/resources/${guide.id}/content`, text);
    expect(changed.status).toBe(200);
    const load = (id: string, name: string) => ({ id, name: 'skill', arguments: { name } });
    model.next({ toolCalls: [load('a', 'guide'), load('b', 'secret')] }, { text: 'Done.' });
    await run(user, agent);
    expect([systemText().includes('- guide:'), systemText().includes('- secret:')]).toEqual([true, false]);
    const request = JSON.stringify(requests()[1]);
    expect([request.includes('Write the place first.'), request.includes('5521')]).toEqual([true, false]);
  });
});

describe('without a language model', () => {
  test('agents with tools do not run, and those without quote', async () => {
    const plain = await standingSystem();
    const by = await signUp(plain, 'Owner');
    const place = (await by.post<Workspace>('/workspaces', { name: 'Plain' })).data;
    const [tools, none] = [await newAgent(by, {}, [place.id]), await newAgent(by, { tools: [] }, [place.id])];
    expect((await begin(by, tools)).error.code).toBe('model_not_configured');
    expect((await run(by, none)).status).toBe('completed');
  });
});

describe('a work item', () => {
  interface WorkItem {
    readonly id: string;
    readonly runs?: readonly { readonly id: string; readonly status: string }[];
  }

  const assignTo = async (agent: Agent, more: object = {}) => {
    const body = { workspace_id: workspace.id, title: QUESTION, assignee: { type: 'agent', id: agent.id }, ...more };
    return (await owner.post<WorkItem>('/work-items', body)).data;
  };
  const runsOf = async ({ id }: WorkItem) =>
    (await owner.get<WorkItem>(`/work-items/${id}?include=runs`)).data.runs ?? [];
  const hasEnded = (item: WorkItem, count: number) =>
    eventually(async () =>
      expect((await runsOf(item)).map(({ status }) => status)).toEqual(Array(count).fill('completed')),
    );

  test('starts one run for each assignment to an autonomous agent', async () => {
    const agent = await make({ auto_run: true });
    const assignee = { type: 'agent', id: agent.id };
    const item = await assignTo(agent);
    await hasEnded(item, 1);
    // The same assignment once more starts nothing; a new one does.
    await owner.patch(`/work-items/${item.id}`, { assignee, priority: 'high' });
    await owner.patch(`/work-items/${item.id}`, { assignee: null });
    await owner.patch(`/work-items/${item.id}`, { assignee });
    await hasEnded(item, 2);
    const [latest] = await runsOf(item);
    const shown = (await owner.get<Record<string, unknown>>(`/agent-runs/${latest?.id}`)).data;
    expect(shown).toMatchObject({ source: 'work_item', work_item_id: item.id, agent_id: agent.id });
    expect(JSON.stringify(requests()[0]?.messages)).toContain(QUESTION);
  });

  test('overrides the settings of the agent', async () => {
    const agent = await make({ auto_run: true });
    const item = await assignTo(agent, { auto_run: false });
    await owner.patch(`/work-items/${item.id}`, { auto_run: true });
    await hasEnded(item, 1);
  });
});

describe('a schedule', () => {
  test('starts an agent, and posts its answer into a chat session', async () => {
    const agent = await make();
    const session = (await owner.post<ChatSession>('/chat-sessions', { workspace_id: workspace.id })).data;
    const made = await owner.post<{ id: string }>('/agent-schedules', {
      ...{ name: 'Monthly', agent_id: agent.id, workspace_id: workspace.id, cron: '@monthly', input: QUESTION },
      deliver_to: { type: 'chat_session', id: session.id },
    });
    expect(made.status).toBe(201);
    await owner.patch(`/agent-schedules/${made.data.id}`, { trigger_now: true });
    const [run] = await eventually(async () => {
      const { data } = await owner.get<{ items: AgentRun[] }>(`/agent-runs?agent_id=${agent.id}`);
      expect(data.items.map(({ status }) => status)).toEqual(['completed']);
      return data.items;
    });
    expect(run).toMatchObject({ source: 'schedule', schedule_id: made.data.id });
    const said = await eventually(async () => {
      const shown = await owner.get<{ messages: { role: string; content: string }[] }>(`/chat-sessions/${session.id}`);
      expect(shown.data.messages).toHaveLength(2);
      return shown.data.messages;
    });
    expect(said.map(({ role }) => role).sort()).toEqual(['assistant', 'user']);
    expect(said.find(({ role }) => role === 'user')?.content).toBe(QUESTION);
    const { data } = await owner.get<{ fires: { outcome: string; run_id: string }[] }>(
      `/agent-schedules/${made.data.id}?include=fires`,
    );
    expect(data.fires.filter(({ run_id }) => run_id === run?.id).map(({ outcome }) => outcome)).toEqual(['manual']);
  });
});
