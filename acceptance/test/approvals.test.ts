import { type ChatServer, openChatServer, type ScriptedReply } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { allEvents, type ChatSession, endOfRun, type Run, streamOf } from '../src/chat.js';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { List, Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

// Tests calls of agents after a person has approved them, also if the process dies. The model is a double.

interface Approval {
  readonly id: string;
  readonly run_id: string;
  readonly kind: string;
  readonly title: string;
  readonly status: string;
  readonly reason: string | null;
  readonly tool: { readonly name: string };
  readonly input: Readonly<Record<string, unknown>>;
  readonly input_hash: string;
  readonly executed_input_hash: string | null;
  readonly preview: { readonly targets: readonly string[] };
  readonly can_decide: boolean;
  readonly version: number;
}

interface WaitingRun extends Run {
  readonly pending_approval_ids: readonly string[];
}

/** A run continues when its worker's lease has expired, after at most 15 s. */
const STUCK_MS = 30_000;

let system: OwnSystem;
let model: ChatServer;
let by: Person;
let workspace: Workspace;
let agentId: string;
let questions = 0;

beforeAll(async () => {
  model = await openChatServer();
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: 'scripted',
  });
  by = await signUp(system, 'Asker');
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Approved' })).data;
  const tools = ['search', 'read', 'write', 'create', 'comment'];
  const { data } = await by.post<{ id: string }>('/agents', {
    ...{ name: 'Keeper', tools, approval_policy: { mode: 'always' } },
  });
  agentId = data.id;
  const places = { workspaces: [{ workspace_id: workspace.id, role: 'editor' }] };
  expect((await by.send('PUT', `/agents/${agentId}/workspaces`, places)).status).toBe(200);
}, 150_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
}, 60_000);

/** Scripts the replies to a unique question, and returns the question. */
function scripted(...replies: ScriptedReply[]): string {
  const question = `Do task number ${++questions} now.`;
  model.script({ match: question, by: 'turn', replies });
  return question;
}

const comment = (page: Resource, body: string, id = body) => ({
  ...{ id, name: 'comment', arguments: { resource_id: page.id, body } },
});

async function newPage(): Promise<Resource> {
  const body = { workspace_id: workspace.id, type: 'document', name: 'Page', content: 'Some words.' };
  return (await by.post<Resource>('/resources', body)).data;
}

const commentsOn = async ({ id }: Resource) =>
  (await by.get<List<{ body: string; author: { type: string } }>>(`/resources/${id}/comments`)).data.items;

/** Starts a run and waits until it asks for approval. */
async function asking(input: string): Promise<{ run: WaitingRun; approvals: Approval[] }> {
  const { data, status } = await by.post<Run>('/agent-runs', {
    ...{ agent_id: agentId, workspace_id: workspace.id, input },
  });
  expect(status).toBe(201);
  const run = await eventually(async () => {
    const { data: now } = await by.get<WaitingRun>(`/agent-runs/${data.id}`);
    expect(now.status).toBe('awaiting_approval');
    return now;
  }, STUCK_MS);
  const { data: list } = await by.get<List<Approval>>(`/agent-approvals?run_id=${data.id}`);
  return { run, approvals: [...list.items] };
}

describe('a run that needs approval', () => {
  test('waits, is shown to people who may decide, and continues after their decision', async () => {
    const page = await newPage();
    const { run, approvals } = await asking(
      scripted({ toolCalls: [comment(page, 'First'), comment(page, 'Second')] }, { text: 'Done.' }),
    );
    expect([...run.pending_approval_ids].sort()).toEqual(approvals.map(({ id }) => id).sort());
    const [one, other] = [...approvals].sort((a, b) => String(a.input.body).localeCompare(String(b.input.body)));
    expect(one).toMatchObject({ kind: 'tool_call', status: 'pending', can_decide: true, tool: { name: 'comment' } });
    expect(one?.preview.targets).toEqual(['Page']);
    const { data: notices } = await eventually(async () => {
      const found = await by.get<List<{ target: { id: string; url: string } }>>(
        '/notifications?type=approval_requested',
      );
      expect(found.data.items.map(({ target }) => target.id)).toContain(one?.id);
      return found;
    }, STUCK_MS);
    expect(notices.items[0]?.target.url).toMatch(/^http:\/\/[^/]+\/approvals\/[0-9a-f-]{36}$/);
    const path = (id = '') => `/agent-approvals/${id}`;
    const stranger = await signUp(system, 'Stranger');
    expect((await stranger.get(path(one?.id))).status).toBe(404);
    expect((await stranger.patch(path(one?.id), { status: 'approved' })).status).toBe(404);
    const { key: secret } = await newKey(by, ['agent_approval:read', 'agent_approval:write']);
    const key = api(system, secret);
    expect(await key.patch(path(one?.id), { status: 'approved' })).toMatchObject({
      ...{ status: 403, body: { error: { code: 'approval_needs_person' } } },
    });
    expect((await by.patch(path(other?.id), { decision: 'deny', comment: 'One will do.' })).status).toBe(200);
    expect(await commentsOn(page)).toEqual([]);
    const edited_input = { ...one?.input, body: 'Better' };
    for (const body of [7, '', 'x'.repeat(10_001)]) {
      const wrong = { status: 'approved', edited_input: { ...one?.input, body } };
      expect(await by.patch(path(one?.id), wrong)).toMatchObject({
        ...{ status: 400, body: { error: { code: 'approval_input_invalid' } } },
      });
    }
    expect((await by.patch(path(one?.id), { status: 'approved', edited_input })).status).toBe(200);
    const again = await by.patch(path(one?.id), { status: 'denied' });
    expect(again).toMatchObject({ status: 409, body: { error: { code: 'approval_not_pending' } } });
    expect(await endOfRun(by, run.id)).toMatchObject({ status: 'completed', output: { text: 'Done.' } });
    expect(await commentsOn(page)).toMatchObject([{ body: 'Better' }]);
    const prompt = JSON.stringify(model.calls.at(-1)?.request.messages);
    expect(prompt).toContain('One will do.');
  });

  test('is reported in its stream, blocks further questions in its session, and ends when interrupted', async () => {
    const page = await newPage();
    const question = scripted({ toolCalls: [comment(page, 'Never')] }, { text: 'Done.' });
    const messages = [{ role: 'user', content: question }];
    const body = { workspace_id: workspace.id, agent_id: agentId, messages, respond: true };
    const { data: session } = await by.post<ChatSession>('/chat-sessions', body);
    const waiting = await eventually(async () => {
      const { data } = await by.get<ChatSession>(`/chat-sessions/${session.id}`);
      expect(data.status).toBe('awaiting_approval');
      return data;
    }, STUCK_MS);
    const runId = String(waiting.active_run_id);
    const { events } = await streamOf(system, by.session, 'GET', `/chat-sessions/${session.id}`);
    const turn = { append_messages: [{ role: 'user', content: 'And now?' }], respond: true };
    const refused = await by.patch(`/chat-sessions/${session.id}`, turn);
    const { pending_approval_ids: pending } = (await by.get<WaitingRun>(`/agent-runs/${runId}`)).data;
    expect(pending).toHaveLength(1);
    expect(refused).toMatchObject({
      ...{ status: 409, body: { error: { code: 'reply_in_progress', details: { pending_approval_ids: pending } } } },
    });
    expect((await by.patch(`/chat-sessions/${session.id}`, { interrupt: true })).status).toBe(200);
    const all = await allEvents(events);
    const asked = all.find(({ event }) => event === 'approval.requested');
    expect(asked?.data.id).toBe(pending[0]);
    expect(all.at(-1)?.event).toBe('run.canceled');
    const { data: after } = await by.get<Approval>(`/agent-approvals/${pending[0]}`);
    expect(after).toMatchObject({ status: 'canceled', reason: 'run_ended', can_decide: false });
    expect(await commentsOn(page)).toEqual([]);
  });
});

test('runs that wait or were just approved survive kills, and each call happens once', async () => {
  const pages = await Promise.all([newPage(), newPage(), newPage()]);
  const runs = await Promise.all(
    pages.map((page, i) => asking(scripted({ toolCalls: [comment(page, `Kept ${i}`)] }, { text: 'Done.' }))),
  );
  const decide = ({ approvals }: (typeof runs)[number]) =>
    by.patch(`/agent-approvals/${approvals[0]?.id}`, { status: 'approved' });
  const [first, second, third] = runs as [(typeof runs)[0], (typeof runs)[0], (typeof runs)[0]];
  // One is decided before the first kill, one before the second, and one after both.
  await decide(first);
  await system.kill();
  await system.restart();
  await decide(second);
  await system.kill();
  await system.restart();
  await decide(third);
  for (const { run } of runs) expect((await endOfRun(by, run.id, STUCK_MS)).status).toBe('completed');
  for (const [i, page] of pages.entries()) expect(await commentsOn(page)).toMatchObject([{ body: `Kept ${i}` }]);
}, 200_000);
