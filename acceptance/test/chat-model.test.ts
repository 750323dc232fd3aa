import { type ChatServer, failures, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newAgent } from '../src/agents.js';
import { allEvents, type ChatSession, endOfRun, joinText, type Run, streamOf } from '../src/chat.js';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { List, Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

// Tests replies of a language model. The model is a double with scripted replies.

let model: ChatServer;
let system: OwnSystem;
let by: Person;
let workspace: Workspace;
let page: Resource;

const MODELS = [
  {
    id: 'scripted',
    context_tokens: 8000,
    max_output_tokens: 1000,
    credit_rates: { input_per_1k: '1', output_per_1k: '2' },
  },
];

beforeAll(async () => {
  model = await openChatServer();
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: JSON.stringify(MODELS),
    COMMONPLACE_CHAT_IDLE_SECONDS: '5',
    COMMONPLACE_RUNS_PER_AGENT: '2',
  });
  by = await signUp(system, 'Asker');
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Metals' })).data;
  const content = 'Gallium melts at 29.76 degrees. More is at https://metals.example/gallium today.';
  page = (
    await by.post<Resource>('/resources', { workspace_id: workspace.id, type: 'document', name: 'Gallium', content })
  ).data;
  await eventually(async () => {
    const { data } = await by.post<List<unknown>>('/search', { query: 'gallium', mode: 'keyword' });
    if (data.items.length === 0) throw new Error('not found yet');
  });
});

afterAll(async () => {
  await system?.stop();
  await model?.close();
});

beforeEach(() => model.reset());

const QUESTION = 'At which temperature does gallium melt?';
const begin = (more: object = {}) =>
  by.post<Run>('/agent-runs', { workspace_id: workspace.id, input: QUESTION, ...more });

async function ask(more: object = {}): Promise<Run> {
  const { data } = await begin(more);
  return endOfRun(by, data.id);
}

describe('a reply', () => {
  test('receives the sources as data, and cites those that exist', async () => {
    model.next({
      text: 'At 29.76 degrees [1]. Perhaps [7]. ![x](https://evil.example/?q=1) See [more](https://metals.example/gallium).',
    });
    const run = await ask();
    expect(run).toMatchObject({ status: 'completed', model: 'scripted', error: null });
    expect(run.output?.text).toBe(
      'At 29.76 degrees [1]. Perhaps . x `https://evil.example/?q=1` See [more](https://metals.example/gallium).',
    );
    expect(run.output?.citations).toMatchObject([{ marker: 1, resource_id: page.id, type: 'document' }]);
    const [{ request }] = model.calls as [ChatServer['calls'][number]];
    const prompt = JSON.stringify(request.messages);
    expect(prompt).toContain('29.76');
    expect(prompt).toContain(QUESTION);
    expect(prompt).toContain('<source number=');
    expect((run.usage.credits as string) !== '0').toBe(true);
  });

  test('uses tools, and each call has one result', async () => {
    model.next(
      {
        toolCalls: [
          { id: 'a', name: 'search', arguments: { query: 'gallium' } },
          { id: 'b', name: 'read', arguments: { resource_id: page.id } },
          { id: 'c', name: 'delete_everything', arguments: {} },
          { id: 'd', name: 'read', arguments: '{"resource_id": ' },
        ],
      },
      { text: 'It melts at 29.76 degrees [1].' },
    );
    const run = await ask();
    expect(run.status).toBe('completed');
    expect(run.steps?.map(({ name, status, tool_call_id }) => [name, status, tool_call_id])).toEqual([
      ['search', 'completed', null],
      ['scripted', 'completed', null],
      ['search', 'completed', 'a'],
      ['read', 'completed', 'b'],
      ['delete_everything', 'failed', 'c'],
      ['read', 'failed', 'd'],
      ['scripted', 'completed', null],
    ]);
    const messages = model.calls[1]?.request.messages as { role: string; tool_call_id?: string }[];
    expect(messages.filter(({ role }) => role === 'tool').map((message) => message.tool_call_id)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  test('is streamed while it is written, to late readers as well', async () => {
    const text = 'Gallium melts in a hand, '.repeat(8);
    model.next({ text, delayMs: 30 });
    const body = { workspace_id: workspace.id, messages: [{ role: 'user', content: QUESTION }], respond: true };
    const { events } = await streamOf(system, by.session, 'POST', '/chat-sessions', body);
    const first = await events.next();
    const id = String(first?.data.session_id);
    for (let event = await events.next(); event?.event !== 'message.delta'; ) event = await events.next();
    const late = await streamOf(system, by.session, 'GET', `/chat-sessions/${id}`);
    const [rest, all] = await Promise.all([allEvents(events), allEvents(late.events)]);
    expect(rest.filter(({ event }) => event === 'message.delta').length).toBeGreaterThan(0);
    const { messages } = (await by.get<ChatSession>(`/chat-sessions/${id}`)).data;
    expect(joinText(all)).toBe(messages[0]?.content);
    expect(messages[0]?.content).toBe(text);
  });

  test.each([
    ['breaks off', { text: 'Half of', fault: { type: 'drop', afterTokens: 2 } } as const],
    ['sends what is no JSON', { text: 'Half of', fault: { type: 'malformed', afterTokens: 1 } } as const],
    ['is overloaded', failures.tooManyRequests('1')],
    ['fails', failures.serverError()],
  ])('is written again when the model %s', async (_, failure) => {
    model.next(failure, { text: 'It melts at 29.76 degrees [1].' });
    const { response, events } = await streamOf(system, by.session, 'POST', '/agent-runs', {
      workspace_id: workspace.id,
      input: QUESTION,
    });
    expect(response.status).toBe(200);
    const all = await allEvents(events);
    expect(all.at(-1)?.event).toBe('run.completed');
    expect(joinText(all)).toBe('It melts at 29.76 degrees [1].');
  });

  test.each([
    ['refuses its key', [failures.wrongKey()], 'model_error', false],
    ['is down for long', Array.from({ length: 4 }, () => failures.serverError()), 'model_unavailable', true],
    ['filters it', [{ text: 'No', finishReason: 'content_filter' as const }], undefined, false],
  ])('fails with a code when the model %s', async (_, replies, code, retryable) => {
    model.next(...replies);
    const run = await ask();
    if (code === undefined) {
      expect(run.status).toBe('completed');
      return;
    }
    expect([run.status, run.error?.code, run.error?.retryable]).toEqual(['failed', code, retryable]);
    model.next({ text: 'Now it works.' });
    const { status, data } = await by.post<Run>('/agent-runs', { retry_of: run.id });
    expect([status, data.retry_of, data.input?.text]).toEqual([201, run.id, QUESTION]);
    expect((await endOfRun(by, data.id)).status).toBe('completed');
  });

  test.each([
    ['stop', false],
    ['length', true],
    ['content_filter', false],
  ] as const)('shows that its model has ended with %s', async (finishReason, truncated) => {
    model.next({ text: 'It melts', finishReason });
    const { id, status, output } = await ask();
    expect([status, output?.text, output?.truncated]).toEqual(['completed', 'It melts', truncated]);
    const { data } = await by.get<Run>(`/agent-runs/${id}?include=steps`);
    const outputs = data.steps?.filter(({ type }) => type === 'message').map((step) => step.output);
    expect(outputs).toMatchObject([{ text: 'It melts', finish_reason: finishReason }]);
  });

  test('that cannot begin is refused, and stores nothing', async () => {
    const other = await signUp(system, 'Stranger');
    const { data: session } = await other.post<ChatSession>('/chat-sessions', {});
    const runs = async () => (await by.get<List<Run>>('/agent-runs?limit=200')).data.items.map(({ id }) => id);
    const before = await runs();
    const refused = [
      await begin({ model: 'no-such-model' }),
      await begin({ session_id: session.id }),
      await begin({ input: 'x'.repeat(100_001) }),
      await by.patch(`/chat-sessions/${session.id}`, { append_messages: [{ content: QUESTION }], respond: true }),
    ];
    expect(refused.map(({ status, error }) => [status, error.code, error.param])).toEqual([
      [404, 'not_found', 'model'],
      [404, 'not_found', 'session_id'],
      [400, 'invalid_value', 'input'],
      [404, 'not_found', null],
    ]);
    expect(model.calls.length).toBe(0);
    expect(await runs()).toEqual(before);
    expect((await other.get<ChatSession>(`/chat-sessions/${session.id}`)).data.message_count).toBe(0);
  });

  test('to a question that is too long for the model fails, and its session continues', async () => {
    model.next(...Array.from({ length: 5 }, () => failures.contextTooLong()));
    const messages = [{ role: 'user', content: QUESTION }];
    const { data } = await by.post<ChatSession>('/chat-sessions', {
      ...{ workspace_id: workspace.id, respond: true },
      messages,
    });
    const run = await endOfRun(by, String(data.run_id));
    expect([run.status, run.error?.code]).toEqual(['failed', 'model_error']);
    const { data: session } = await by.get<ChatSession>(`/chat-sessions/${data.id}?order=asc`);
    expect(session.messages.map(({ seq, role, status }) => [seq, role, status])).toEqual([
      [1, 'user', 'complete'],
      [2, 'assistant', 'failed'],
    ]);
    model.reset();
    model.next({ text: 'Shorter.' });
    await by.patch(`/chat-sessions/${data.id}`, { append_messages: [{ content: QUESTION }], respond: true });
    await eventually(async () =>
      expect((await by.get<ChatSession>(`/chat-sessions/${data.id}`)).data.status).toBe('idle'),
    );
  });

  test('that would not fit drops the oldest messages, never the question', async () => {
    const long = Array.from({ length: 40 }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user',
      content: `${i} ${'word '.repeat(300)}`,
    }));
    model.next(failures.contextTooLong(), { text: 'Short.' });
    const { data } = await by.post<ChatSession>('/chat-sessions', {
      ...{ workspace_id: workspace.id, respond: true },
      messages: [...long, { role: 'user', content: QUESTION }],
    });
    const run = await endOfRun(by, String(data.run_id));
    expect(run.status).toBe('completed');
    const [first, second] = model.calls.map(({ request }) => request.messages as { role: string; content: string }[]);
    expect(first?.length).toBeLessThan(42);
    expect(second?.length).toBeLessThan(first?.length ?? 0);
    for (const messages of [first, second]) {
      expect(messages?.[0]?.role).toBe('system');
      expect(messages?.at(-1)?.content).toContain(QUESTION);
    }
  });
});

describe('a structured result', () => {
  const schema = {
    type: 'object',
    properties: { degrees: { type: 'number' } },
    required: ['degrees'],
    additionalProperties: false,
  };

  test('follows its schema, if necessary after a repair', async () => {
    model.next({ text: 'It is 29.76.' }, { text: '{"degrees": 29.76}' });
    const run = await ask({ output_schema: schema });
    expect([run.status, run.output?.data]).toEqual(['completed', { degrees: 29.76 }]);
  });

  test('fails after two repairs', async () => {
    model.next({ text: '{}' }, { text: '{}' }, { text: '{"degrees": "warm"}' });
    const run = await ask({ output_schema: schema });
    expect([run.status, run.error?.code, model.calls.length]).toEqual(['failed', 'output_invalid', 3]);
  });
});

describe('cancelling', () => {
  test('ends a reply in progress, and keeps the text so far', async () => {
    model.next({ text: 'word '.repeat(400), delayMs: 50 });
    const { data } = await begin();
    await eventually(() => expect(model.calls[0]?.billed.outputTokens).toBeGreaterThan(10));
    const { data: canceling } = await by.post<Run>(`/agent-runs/${data.id}/cancel`, { reason: 'Enough' });
    expect(['canceling', 'canceled']).toContain(canceling.status);
    const run = await endOfRun(by, data.id);
    expect([run.status, run.cancel_reason]).toEqual(['canceled', 'Enough']);
    expect((await by.post<Run>(`/agent-runs/${data.id}/cancel`, {})).data.status).toBe('canceled');
  });

  test('by an interruption is possible in an archived workspace, where nothing else changes', async () => {
    const { data: place } = await by.post<Workspace>('/workspaces', { name: 'Closed' });
    model.next({ text: 'word '.repeat(400), delayMs: 50 });
    const messages = [{ role: 'user', content: QUESTION }];
    const asked = { workspace_id: place.id, messages, respond: true };
    const { data } = await by.post<ChatSession>('/chat-sessions', asked);
    await eventually(() => expect(model.calls.length).toBe(1));
    await by.post(`/workspaces/${place.id}/archive`, {});
    const path = `/chat-sessions/${data.id}`;
    expect((await by.patch(path, { interrupt: true, title: 'After' })).error.code).toBe('workspace_archived');
    expect((await by.patch(path, { interrupt: false })).error.code).toBe('workspace_archived');
    expect((await by.patch<ChatSession>(path, { interrupt: true })).data.status).toBe('idle');
    expect((await endOfRun(by, String(data.run_id))).status).toBe('canceled');
  });

  test('by an interruption allows the next question at once', async () => {
    model.next({ text: 'word '.repeat(400), delayMs: 50 }, { text: 'The second answer.' });
    const messages = [{ role: 'user', content: QUESTION }];
    const { data } = await by.post<ChatSession>('/chat-sessions', {
      workspace_id: workspace.id,
      messages,
      respond: true,
    });
    await eventually(() => expect(model.calls.length).toBe(1));
    const again = { append_messages: [{ content: 'And indium?' }], respond: true };
    const path = `/chat-sessions/${data.id}`;
    expect((await by.patch(path, again)).error).toMatchObject({ code: 'reply_in_progress' });
    const { data: second } = await by.patch<ChatSession>(path, { ...again, interrupt: true });
    expect((await endOfRun(by, String(data.run_id))).status).toBe('canceled');
    expect((await endOfRun(by, String(second.run_id))).output?.text).toBe('The second answer.');
    const { messages: all, status } = (await by.get<ChatSession>(`${path}?order=asc`)).data;
    expect(all.map(({ seq, role, status: state }) => [seq, role, state])).toEqual([
      [1, 'user', 'complete'],
      [2, 'assistant', 'canceled'],
      [3, 'user', 'complete'],
      [4, 'assistant', 'complete'],
    ]);
    expect(status).toBe('idle');
  });

  test('of a session that is deleted during a reply leaves nothing running', async () => {
    model.next({ text: 'word '.repeat(400), delayMs: 50 });
    const messages = [{ role: 'user', content: QUESTION }];
    const { data } = await by.post<ChatSession>('/chat-sessions', {
      workspace_id: workspace.id,
      messages,
      respond: true,
    });
    await eventually(() => expect(model.calls.length).toBe(1));
    await by.del(`/chat-sessions/${data.id}`);
    const run = await endOfRun(by, String(data.run_id));
    expect(run.status).toBe('canceled');
  });
});

describe('the queue', () => {
  test('runs a limited number of replies per person at the same time, and reports the position of the others', async () => {
    const long = { text: 'word '.repeat(600), delayMs: 50 };
    model.next(long, long, { text: 'Short.' });
    const runs = await Promise.all(Array.from({ length: 4 }, () => begin()));
    await eventually(() => expect(model.calls.length).toBe(2));
    const states = await Promise.all(runs.map(({ data }) => by.get<Run>(`/agent-runs/${data.id}`)));
    expect(states.map(({ data }) => data.status).sort()).toEqual(['queued', 'queued', 'running', 'running']);
    const positions = states.map(({ data }) => data.queue_position).filter((position) => position !== null);
    expect(positions.sort()).toEqual([0, 1]);
    const waiting = states.find(({ data }) => data.status === 'queued')?.data.id ?? '';
    expect((await by.post<Run>(`/agent-runs/${waiting}/cancel`, {})).data.status).toBe('canceled');
    const [first, second] = states.filter(({ data }) => data.status === 'running');
    for (const one of [first, second]) await by.post(`/agent-runs/${one?.data.id}/cancel`, {});
    const ends = await Promise.all(runs.map(async ({ data }) => (await endOfRun(by, data.id)).status));
    expect(ends.sort()).toEqual(['canceled', 'canceled', 'canceled', 'completed']);
    expect(model.calls.length).toBe(3);
  });
});

describe('credits', () => {
  test('are counted as the provider counts', async () => {
    model.next({ text: 'It melts at 29.76 degrees [1].' });
    const before = model.billed();
    const run = await ask();
    const billed = model.billed();
    const input = billed.inputTokens - before.inputTokens;
    const output = billed.outputTokens - before.outputTokens;
    expect([run.usage.input_tokens, run.usage.output_tokens]).toEqual([input, output]);
    const micros = Math.floor((input * 1_000_000 + output * 2_000_000) / 1000 + 0.5);
    expect(Number(run.usage.credits)).toBeCloseTo(micros / 1_000_000, 6);
  });

  test('of a run that may spend less than its prompt costs are not spent', async () => {
    const run = await ask({ max_credits: '0.000001' });
    expect([run.status, run.error?.code, model.calls.length]).toEqual(['failed', 'credit_limit', 0]);
  });
});

describe('a usage cap that is reached', () => {
  let poor: Person;
  let place: Workspace;
  const messages = [{ role: 'user', content: QUESTION }];

  beforeAll(async () => {
    poor = await signUp(system, 'Poor');
    place = (await poor.post<Workspace>('/workspaces', { name: 'Poor' })).data;
  });

  test('refuses new runs and replies, and stores nothing of them', async () => {
    const { data: session } = await poor.post<ChatSession>('/chat-sessions', { workspace_id: place.id });
    await poor.patch('/usage/settings', { monthly_cap_credits: 0 });
    const refused = [
      await poor.post('/agent-runs', { workspace_id: place.id, input: QUESTION }),
      await poor.post('/chat-sessions', { workspace_id: place.id, messages, respond: true }),
      await poor.patch(`/chat-sessions/${session.id}`, { append_messages: messages, respond: true }),
      await poor.post('/agent-runs', { session_id: session.id, input: QUESTION }),
    ];
    for (const { status, error } of refused) {
      expect([status, error.code, error.details]).toEqual([
        ...[409, 'usage_cap_reached', expect.objectContaining({ cap: 'tenant', limit: '0' })],
      ]);
    }
    expect((await poor.get<List<unknown>>('/agent-runs')).data.items).toEqual([]);
    const { items } = (await poor.get<List<ChatSession>>('/chat-sessions')).data;
    expect(items.map(({ id, message_count, status }) => [id, message_count, status])).toEqual([
      [session.id, 0, 'idle'],
    ]);
  });

  test('refuses what mentions, schedules, automations and work items start, and reports it there', async () => {
    const agent = await newAgent(poor, { tools: [], auto_run: true }, [place.id]);
    const inPlace = { workspace_id: place.id };
    const { data: talk } = await poor.post<{ id: string }>('/im/conversations', {
      ...{ ...inPlace, type: 'group', name: 'Poor', members: [{ agent_id: agent.id }] },
    });
    const mentions = [{ type: 'agent', id: agent.id }];
    await poor.post(`/im/conversations/${talk.id}/messages`, { text: QUESTION, mentions });
    const { data: schedule } = await poor.post<{ id: string }>('/agent-schedules', {
      ...{ ...inPlace, name: 'Daily', agent_id: agent.id, cron: '0 3 * * *', input: QUESTION },
    });
    await poor.patch(`/agent-schedules/${schedule.id}`, { trigger_now: true });
    const actions = [{ id: 'ask', type: 'run_agent', config: { agent_id: agent.id, input: QUESTION } }];
    const { data: automation } = await poor.post<{ id: string }>('/automations', {
      ...{ ...inPlace, name: 'Ask', trigger: { type: 'manual' }, actions, retry: { max_attempts: 0 } },
    });
    await poor.post(`/automations/${automation.id}/run`, {});
    const { data: item } = await poor.post<{ id: string }>('/work-items', {
      ...{ ...inPlace, title: QUESTION, assignee: { type: 'agent', id: agent.id } },
    });
    const outcomes = async () => {
      type Messages = List<{ author: { type: string }; text: string }>;
      const messages = (await poor.get<Messages>(`/im/conversations/${talk.id}/messages`)).data.items;
      type Fires = { fires: { outcome: string; reason: string | null }[] };
      const { fires } = (await poor.get<Fires>(`/agent-schedules/${schedule.id}?include=fires`)).data;
      type Runs = List<{ status: string; error: { code: string } | null }>;
      const runs = (await poor.get<Runs>(`/automations/${automation.id}/runs`)).data.items;
      type Activity = { activity: { type: string; reason?: string | null }[] };
      const { activity } = (await poor.get<Activity>(`/work-items/${item.id}?include=activity`)).data;
      return {
        said: messages.filter(({ author }) => author.type === 'system').map(({ text }) => text),
        fires: fires.map(({ outcome, reason }) => [outcome, reason]),
        runs: runs.map(({ status, error }) => [status, error?.code]),
        refused: activity.filter(({ type }) => type === 'run_refused').map(({ reason }) => reason),
      };
    };
    await eventually(
      async () =>
        expect(await outcomes()).toEqual({
          said: [expect.stringContaining('would exceed the limit')],
          fires: [['failed_to_start', 'usage_cap_reached']],
          runs: [['failed', 'usage_cap_reached']],
          refused: ['usage_cap_reached'],
        }),
      30_000,
    );
    expect((await poor.get<List<unknown>>('/agent-runs')).data.items).toEqual([]);
  });

  test('no longer refuses them once it is lifted', async () => {
    model.next({ text: 'At 29.76 degrees.' });
    await poor.patch('/usage/settings', { monthly_cap_credits: null });
    const { data } = await poor.post<Run>('/agent-runs', { workspace_id: place.id, input: QUESTION });
    expect((await endOfRun(poor, data.id)).status).toBe('completed');
  });
});

test('a stream ends when its key is revoked', async () => {
  model.next({ text: 'word '.repeat(400), delayMs: 50 });
  const key = await newKey(by, ['agent_run:read', 'agent_run:write', 'search:read', 'content:read']);
  const { events } = await streamOf(system, key.key, 'POST', '/agent-runs', {
    workspace_id: workspace.id,
    input: QUESTION,
  });
  const first = await events.next();
  await by.del(`/api-keys/${key.id}`);
  const rest = await allEvents(events);
  expect(rest.at(-1)).toMatchObject({ event: 'error', data: { code: 'revoked_key' } });
  const id = String(first?.data.run_id);
  expect((await api(system).get(`/agent-runs/${id}`)).status).toBe(401);
  await by.post(`/agent-runs/${id}/cancel`, {});
});

describe('a run of a key that is limited to a workspace', () => {
  let elsewhere: Workspace;
  let hidden: Resource;
  const limited = async () => {
    const key = await newKey(by, SCOPES, { workspace_ids: [workspace.id] });
    return api(system, key.key);
  };
  const SCOPES = ['agent_run:read', 'agent_run:write', 'content:read', 'search:read', 'resource:read'];
  const promptOf = (run: Run) => JSON.stringify(model.calls.at(-1)?.request.messages) + JSON.stringify(run.steps);

  beforeAll(async () => {
    elsewhere = (await by.post<Workspace>('/workspaces', { name: 'Elsewhere' })).data;
    const page = { workspace_id: elsewhere.id, type: 'document', name: 'Vault', content: 'The vault opens at noon.' };
    hidden = (await by.post<Resource>('/resources', page)).data;
  });

  test('reads no pins of its agent in others', async () => {
    const agent = await newAgent(by, { tools: ['read'] }, [workspace.id, elsewhere.id]);
    expect((await by.post(`/agents/${agent.id}/pins`, { resource_id: hidden.id })).status).toBe(201);
    const start = async (as: Pick<Person, 'post' | 'get'>) => {
      model.next({ text: 'Read.' });
      const { data } = await as.post<Run>('/agent-runs', {
        agent_id: agent.id,
        workspace_id: workspace.id,
        input: 'Go.',
      });
      return endOfRun(by, data.id);
    };
    expect(promptOf(await start(by))).toContain('noon');
    expect(promptOf(await start(await limited()))).not.toContain('noon');
  });

  test('reads none of them either when a schedule, an automation or a message starts it', async () => {
    const agent = await newAgent(by, { tools: ['read'], auto_run: true }, [workspace.id, elsewhere.id]);
    await by.post(`/agents/${agent.id}/pins`, { resource_id: hidden.id });
    const scopes = ['agent_schedule', 'automation', 'work_item', 'im'].flatMap((area) => [
      `${area}:read`,
      `${area}:write`,
    ]);
    const key = await newKey(by, [...SCOPES, 'agent:read', ...scopes], { workspace_ids: [workspace.id] });
    const as = api(system, key.key);
    const assigned = { title: 'Go.', workspace_id: workspace.id, assignee: { type: 'agent', id: agent.id } };
    const running = [{ id: 'run', type: 'run_agent', config: { agent_id: agent.id, input: 'Go.' } }];
    const automation = {
      name: 'A',
      workspace_id: workspace.id,
      trigger: { type: 'manual', config: {} },
      actions: running,
    };
    const schedule = {
      name: 'S',
      workspace_id: workspace.id,
      agent_id: agent.id,
      input: 'Go.',
      interval_seconds: 86_400,
    };
    const started = async () => {
      expect((await as.post('/work-items', assigned)).status).toBe(201);
      const { data: saved } = await as.post<{ id: string }>('/automations', automation);
      await as.post(`/automations/${saved.id}/run`, {});
      const { data: planned } = await as.post<{ id: string }>('/agent-schedules', schedule);
      await as.patch(`/agent-schedules/${planned.id}`, { trigger_now: true });
      const { data: talk } = await as.post<{ id: string }>('/im/conversations', {
        ...{ type: 'group', name: 'Talk', workspace_id: workspace.id, members: [{ agent_id: agent.id }] },
      });
      await as.post(`/im/conversations/${talk.id}/messages`, {
        ...{ text: 'Go.', mentions: [{ type: 'agent', id: agent.id }] },
      });
    };
    model.script({ replies: Array(4).fill({ text: 'Read.' }) });
    await started();
    const runs = await eventually(async () => {
      const { data } = await by.get<List<Run>>(`/agent-runs?agent_id=${agent.id}&status=completed`);
      expect(data.items.map(({ source }) => source).sort()).toEqual(['automation', 'im', 'schedule', 'work_item']);
      return data.items;
    }, 30_000);
    for (const { id } of runs) expect(JSON.stringify(await endOfRun(by, id))).not.toContain('noon');
    expect(JSON.stringify(model.calls)).not.toContain('noon');
  }, 60_000);

  test('reads nothing in others that the repeated run was given', async () => {
    model.next({ status: 400, error: { message: 'Refused.' } });
    const { data: first } = await begin({ resource_ids: [hidden.id] });
    expect((await endOfRun(by, first.id)).status).toBe('failed');
    model.reset();
    model.next({ text: 'Read.' });
    const { data: again } = await (await limited()).post<Run>('/agent-runs', { retry_of: first.id });
    expect(promptOf(await endOfRun(by, again.id))).not.toContain('noon');
  });
});
