import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { ChatVisibility } from '@commonplace/proto/agents/v1/chat_session.js';
import {
  CreateChatSessionRequest,
  GetChatSessionRequest,
  UpdateChatSessionRequest,
} from '@commonplace/proto/agents/v1/chat_session_service.js';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type AgentRecord, DEFAULT_POLICY } from '../src/stores/agents.js';
import { type AgentStage, openAgentStage } from './stage.js';

/** A reply inherits the sources of all earlier replies. */

const SECRET = 'The vault opens at 4711.';
let stage: AgentStage;
let ann: Caller;
let bob: Caller;
let sourceId: string;

beforeAll(async () => {
  stage = await openAgentStage();
  ann = stage.person('Ann');
  bob = stage.person('Bob', 'viewer');
});
afterAll(() => stage.close());

beforeEach(() => {
  stage.model.reset();
  stage.readable.clear();
  sourceId = newId();
  const source = { resourceId: sourceId, name: 'Vault', type: 'document', contentVersion: 1, ranges: [] };
  const found = [{ ...source, snippet: SECRET, text: SECRET, isVerbatim: true }];
  stage.tools.set('look', { plan: { effect: 'none', action: 'read' }, act: () => ({ found }) });
  const taints = [{ type: 'web', id: 'https://evil.example/', name: 'evil.example' }] as const;
  stage.tools.set('surf', { plan: { effect: 'none', action: 'read' }, act: () => ({ taints }) });
});

const words = (text: string) => [{ role: undefined, content: Buffer.from(JSON.stringify(text)) }];
const calling = (name: string) => ({ toolCalls: [{ id: 'c1', name, arguments: { what: 'it' } }] });

async function begin(agent: AgentRecord | undefined, text: string, until = 'completed') {
  const place = { workspaceId: stage.workspaceId, agentId: agent?.id, context: { resourceIds: [], search: false } };
  const request = { ...place, messages: words(text), respond: true, visibility: ChatVisibility.WORKSPACE };
  const session = await stage.clients.sessions.createChatSession(
    CreateChatSessionRequest.fromPartial(request as never),
    await stage.stage.as(ann),
  );
  return { id: session.id, run: await stage.until(ann, session.runId ?? '', until) };
}

async function goOn(sessionId: string, text: string, more: object = {}) {
  const request = { sessionId, appendMessages: words(text), respond: true, ...more };
  const { runId = '' } = await stage.clients.sessions.updateChatSession(
    UpdateChatSessionRequest.fromPartial(request as never),
    await stage.stage.as(ann),
  );
  return stage.until(ann, runId, 'completed');
}

async function repliesTo(reader: Caller, sessionId: string) {
  const request = GetChatSessionRequest.fromPartial({ sessionId });
  const { messages } = await stage.clients.sessions.getChatSession(request, await stage.stage.as(reader));
  return messages.flatMap(({ role, content, withheld }) =>
    role === 'CHAT_ROLE_ASSISTANT' ? [content ?? withheld] : [],
  );
}

test('a history that exceeds any prompt is truncated, with a note', async () => {
  const agent = await stage.createAgent();
  const history = Array.from({ length: 210 }, (_, i) => words(`Word ${i}.`)).flat();
  const place = { workspaceId: stage.workspaceId, agentId: agent.id, context: { resourceIds: [], search: false } };
  stage.model.next({ text: 'Done.' });
  const { runId = '' } = await stage.clients.sessions.createChatSession(
    CreateChatSessionRequest.fromPartial({
      ...place,
      messages: [...history, ...words('And?')],
      respond: true,
    } as never),
    await stage.stage.as(ann),
  );
  await stage.until(ann, runId, 'completed');
  expect([promptOf(-1)?.includes('Word 9.'), promptOf(-1)?.includes('Word 10.')]).toEqual([false, true]);
  expect((await stage.records.runs.get(runId))?.droppedMessages).toBe(10);
});

const promptOf = (at: number) => JSON.stringify(stage.model.calls.at(at)?.request.messages);

test('people who cannot read the sources of a reply cannot read later replies either', async () => {
  stage.model.next(calling('look'), { text: `${SECRET} [1]` }, { text: 'It opens at 4711, as I said.' });
  const { id } = await begin(undefined, 'What opens the vault?');
  await goOn(id, 'Say it again.');
  expect(promptOf(-1)).toContain('4711');
  expect(await repliesTo(bob, id)).toEqual([true, true]);
  expect(await repliesTo(ann, id)).toEqual([expect.stringContaining('as I said'), expect.stringContaining(SECRET)]);
  stage.readable.add(sourceId);
  expect(await repliesTo(bob, id)).toEqual([expect.stringContaining('as I said'), expect.stringContaining(SECRET)]);
});

test('people who cannot read what has tainted a run are not told its name, also before the run has ended', async () => {
  const agent = await stage.createAgent({ policy: { ...DEFAULT_POLICY, mode: 'always' } });
  const taint = { type: 'import', id: sourceId, name: 'Vault' } as const;
  const reads = { effect: 'none', action: 'read' } as const;
  stage.tools.set('look', { plan: reads, act: () => ({ taints: [taint], drawnFrom: [sourceId] }) });
  stage.tools.set('act', {});
  stage.model.next({
    toolCalls: [...calling('look').toolCalls, { ...calling('act').toolCalls[0], id: 'c2' }],
  } as never);
  const { run } = await begin(agent, 'Act on the vault.', 'awaiting_approval');
  expect(run.taintSources).toEqual([taint]);
  const request = { runId: run.id, include: [], waitSeconds: undefined, step: undefined };
  const seen = async () => stage.clients.runs.getRun(request, await stage.stage.as(bob));
  expect(await seen()).toMatchObject({ tainted: true, taintSources: [] });
  await stage.clients.runs.cancelRun({ runId: run.id, reason: undefined }, await stage.stage.as(ann));
  expect(await seen()).toMatchObject({ status: 'RUN_STATUS_CANCELED', tainted: true, taintSources: [] });
  stage.tools.delete('act');
});

test('replies drawn from a resource without a passage are withheld as well', async () => {
  stage.tools.set('notes', { plan: { effect: 'none', action: 'read' }, act: () => ({ drawnFrom: [sourceId] }) });
  stage.model.next(calling('notes'), { text: 'The comments say 4711.' });
  const { id, run } = await begin(undefined, 'What do the comments say?');
  expect(await repliesTo(bob, id)).toEqual([true]);
  expect((await stage.run(bob, run.id)).output).toBeUndefined();
  stage.readable.add(sourceId);
  expect(await repliesTo(bob, id)).toEqual(['The comments say 4711.']);
});

test('replies drawn from a conversation are visible to the person who asked only, and so are later ones', async () => {
  stage.tools.set('gossip', { plan: { effect: 'none', action: 'read' }, act: () => ({ isPrivate: true }) });
  stage.model.next(calling('gossip'), { text: 'They say 4711.' }, { text: '4711, as I said.' });
  const { id, run } = await begin(undefined, 'What do they say?');
  await goOn(id, 'Again?');
  expect(await repliesTo(bob, id)).toEqual([true, true]);
  expect((await stage.run(bob, run.id)).output).toBeUndefined();
  expect(await repliesTo(ann, id)).toEqual(['4711, as I said.', 'They say 4711.']);
});

test("the reason of a failed call is shown to people who can read the run's input", async () => {
  stage.tools.set('fail', { act: () => ({ isError: true, text: 'The vault 4711 is closed.', drawnFrom: [sourceId] }) });
  stage.model.next(calling('fail'), { text: 'It failed.' });
  const { run } = await begin(undefined, 'Open it.');
  const errorFor = async (reader: Caller) =>
    (await stage.run(reader, run.id)).steps.find(({ name }) => name === 'fail')?.error;
  expect((await errorFor(ann))?.message).toContain('4711');
  expect(await errorFor(bob)).toEqual({ ...(await errorFor(ann)), message: expect.not.stringContaining('4711') });
});

test('an agent receives no reply that was drawn from what it cannot read', async () => {
  const agent = await stage.createAgent();
  stage.model.next(calling('look'), { text: `${SECRET} [1]` }, { text: 'I do not know.' }, { text: '4711.' });
  const { id } = await begin(undefined, 'What opens the vault?');
  await goOn(id, 'What opens it?', { agentId: agent.id });
  expect(promptOf(-1)).not.toContain('4711');
  expect(promptOf(-1)).toContain('withheld');
  stage.readable.add(sourceId);
  await goOn(id, 'And now?');
  expect(promptOf(-1)).toContain('4711');
  stage.model.next({ text: 'I am the assistant.' });
  const run = await goOn(id, 'And you?', { agentId: '', updateMask: ['agent_id'] });
  expect(run.agentId).toBeUndefined();
});

test('a run is tainted by replies of runs that had read untrusted content', async () => {
  const agent = await stage.createAgent();
  stage.model.next(calling('surf'), { text: 'It says: share all.' }, { text: 'Well.' });
  const { id, run } = await begin(agent, 'What does the page say?');
  expect(run).toMatchObject({ tainted: true, taintSources: [{ id: 'https://evil.example/' }] });
  expect(await goOn(id, 'Go on.')).toMatchObject({ tainted: true, taintSources: [{ id: 'https://evil.example/' }] });
});

test('a run of the same session that starts over is not tainted', async () => {
  const agent = await stage.createAgent();
  stage.model.next(calling('surf'), { text: 'It says: share all.' }, { text: 'Well.' });
  const { id } = await begin(agent, 'What does the page say?');
  expect(await goOn(id, '', { appendMessages: [], respond: undefined, regenerateFromSeq: 1 })).toMatchObject({
    tainted: false,
  });
});

test('nothing that a run has read is left in it once its session is deleted', async () => {
  stage.tools.set('fail', { act: () => ({ isError: true, text: 'The vault 4711 is closed.', drawnFrom: [sourceId] }) });
  stage.model.next(calling('fail'), { text: 'It is closed.' });
  const { id, run } = await begin(await stage.createAgent(), 'Open the vault.');
  expect(run.steps.map(({ error }) => error?.message)).toContain('The vault 4711 is closed.');
  await stage.clients.sessions.deleteChatSession({ sessionId: id }, await stage.stage.as(ann));
  await eventually(async () => {
    const left = await stage.run(ann, run.id);
    expect(left).toMatchObject({ input: undefined, status: 'RUN_STATUS_COMPLETED' });
    expect(left.steps.find(({ name }) => name === 'fail')?.error?.code).toBe('tool_error');
    expect(JSON.stringify(left)).not.toContain('4711');
  }, 20_000);
});
