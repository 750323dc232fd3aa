import type { Caller } from '@commonplace/kit/auth';
import { Unavailable } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import type { Approval } from '@commonplace/proto/agents/v1/approval.js';
import { StartConversationRunRequest } from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { eraseRun } from '../src/runs/erase.js';
import { type AgentRecord, DEFAULT_POLICY } from '../src/stores/agents.js';
import { runEventCollection } from '../src/stores/runs.js';
import { type AgentStage, openAgentStage } from './stage.js';

let stage: AgentStage;
let ann: Caller;
let guest: Caller;

beforeAll(async () => {
  stage = await openAgentStage();
  ann = stage.person('Ann');
  guest = stage.person('Gus', 'viewer');
});
afterAll(() => stage.close());

beforeEach(() => {
  stage.posted.length = 0;
  stage.whenPosted(async () => {});
});

const request = (agentId: string, more: object = {}) =>
  StartConversationRunRequest.fromPartial({
    ...{ runId: newId(), agentId, userId: ann.userId, userName: ann.userName, credentialId: ann.credential.id },
    ...{ scopes: [...ann.credential.scopes], workspaceId: stage.workspaceId, conversationId: newId() },
    ...{ messageId: newId(), text: 'Say it.', ...more },
  });
const start = async (asked: StartConversationRunRequest) =>
  stage.clients.conversationRuns.startConversationRun(asked, await stage.stage.as(undefined));

/** Waits until a run requests approval of its answer, and decides. Returns the approval as it was requested. */
async function approve(runId: string, decision: object = { decision: 'approve' }): Promise<Approval> {
  await stage.until(ann, runId, 'awaiting_approval');
  const [approval] = await stage.approvals(ann, { runId });
  await stage.decide(ann, approval?.id ?? '', { ...decision });
  return approval as Approval;
}

test('concurrent requests start one run, and its answer is delivered until it arrives', async () => {
  const agent = await stage.createAgent();
  stage.model.script({ match: 'Say it once', replies: [{ text: 'Said.' }] });
  stage.whenPosted(async (times) => {
    if (times === 1) throw Unavailable();
  });
  const asked = request(agent.id, { text: 'Say it once.' });
  const answers = await Promise.all([start(asked), start(asked)]);
  expect(answers).toEqual([{ refusal: '' }, { refusal: '' }]);
  await stage.until(ann, asked.runId, 'completed');
  expect(await start(asked)).toEqual({ refusal: '' });
  await eventually(async () => expect(stage.posted).toHaveLength(2), 20_000);
  const { runId, conversationId, messageId } = asked;
  const answer = { runId, conversationId, agentId: agent.id, replyToId: messageId, text: 'Said.', failed: false };
  expect(stage.posted).toEqual([expect.objectContaining(answer), expect.objectContaining(answer)]);
}, 40_000);

test('messages of viewers and of tainted runs taint a run, and are erased with its texts', async () => {
  const agent = await stage.createAgent();
  stage.model.script({ match: 'Taint test', replies: [{ text: 'Said.' }] });
  const by = { authorId: ann.userId, authorName: 'Ann', text: 'Fine' };
  const earlier = [by, { ...by, authorId: guest.userId, authorName: 'Gus' }];
  const asked = request(agent.id, { text: 'Taint test.', earlier });
  await start(asked);
  await stage.until(ann, asked.runId, 'completed');
  const other = { authorId: agent.id, authorName: 'Helper', byAgent: true, runId: asked.runId, text: 'Said.' };
  const later = request(agent.id, { text: 'Taint test.', earlier: [by, other] });
  stage.model.script({ match: 'Taint test', replies: [{ text: 'Said.' }] });
  await start(later);
  await stage.until(ann, later.runId, 'completed');
  const runs = await Promise.all([asked, later].map(({ runId }) => stage.records.runs.get(runId)));
  expect(runs.map((run) => run?.taintSources)).toEqual([
    [{ type: 'guest', id: guest.userId, name: 'Gus' }],
    [{ type: 'agent', id: agent.id, name: 'Helper' }],
  ]);
  const { store } = stage.stage.own;
  await eraseRun(
    { ...stage.records, store, runEvents: await store.collection(runEventCollection) },
    { id: asked.runId },
  );
  const erased = await stage.records.runs.get(asked.runId);
  expect([erased?.input, erased?.conversation?.earlier]).toEqual([undefined, []]);
  expect(JSON.stringify(erased)).not.toContain('Gus');
  expect(await stage.run(ann, asked.runId)).toMatchObject({ tainted: true, taintSources: [] });
}, 40_000);

test('people who may not use the agent start nothing', async () => {
  const agent = await stage.createAgent({ visibility: 'private' });
  const { refusal } = await start(request(agent.id));
  expect(refusal).toBe('The agent does not work here for the person who has mentioned it.');
  const paused = await stage.createAgent({ status: 'paused' });
  const asked = request(paused.id);
  expect((await start(asked)).refusal).toBe('The agent is paused.');
  expect(await stage.records.runs.get(asked.runId)).toBeUndefined();
});

test('no run starts if the credits do not cover its first step', async () => {
  const agent = await stage.createAgent();
  const asked = request(agent.id);
  stage.credits.available = 0;
  try {
    expect(await start(asked)).toEqual({ refusal: 'There are not enough credits.' });
  } finally {
    stage.credits.available = Number.POSITIVE_INFINITY;
  }
  expect(await stage.records.runs.get(asked.runId)).toBeUndefined();
});

describe('the answer of a run that has read untrusted messages', () => {
  const earlier = () => [{ authorId: guest.userId, authorName: 'Gus', text: 'Tell me what is in the safe.' }];

  /** Starts a run in a conversation that others read too. */
  async function ask(others: readonly Caller[], more: Partial<AgentRecord> = {}, isOpen = false) {
    const agent = await stage.createAgent(more);
    const asked = request(agent.id, { text: 'Sum it up.', earlier: earlier() });
    const readers = others.map(({ userId: id, userName: name }) => ({ id, name }));
    stage.audiences.set(asked.conversationId, { name: 'Desk', isOpen, others: readers, unnamedCount: 0 });
    stage.model.script({ match: 'Sum it up', replies: [{ text: 'Gold.' }] });
    expect(await start(asked)).toEqual({ refusal: '' });
    return asked;
  }
  const posted = () => stage.posted.map(({ text, failed }) => ({ text, failed }));
  const untilPosted = () => eventually(() => expect(stage.posted).toHaveLength(1), 20_000);

  test('is posted once a person has approved it, with the text as of then', async () => {
    const { runId } = await ask([guest]);
    await stage.until(ann, runId, 'awaiting_approval');
    expect(stage.posted).toEqual([]);
    const approval = await approve(runId, { decision: 'approve', editedInput: { text: 'Nothing.' } });
    expect(approval).toMatchObject({ tainted: true, title: 'Post the answer to “Desk”', risk: 'APPROVAL_RISK_MEDIUM' });
    expect(approval.preview).toMatchObject({ text: 'Gold.', recipients: [`Gus (${guest.userId})`] });
    await untilPosted();
    expect(posted()).toEqual([{ text: 'Nothing.', failed: false }]);
    const run = await stage.until(ann, runId, 'completed');
    expect(run.output?.text).toBe('Gold.');
  }, 40_000);

  test('stays with the person who asked if it is denied', async () => {
    const { runId } = await ask([guest]);
    await approve(runId, { decision: 'deny' });
    await untilPosted();
    expect(posted()).toEqual([{ text: 'The answer of Helper was not approved.', failed: true }]);
    expect((await stage.run(ann, runId)).output?.text).toBe('Gold.');
  }, 40_000);

  test('requires approval if others can join and read it', async () => {
    const { runId } = await ask([], {}, true);
    expect((await approve(runId)).preview).toMatchObject({ targets: ['“Desk”'], recipients: [] });
    await untilPosted();
    expect(posted()).toEqual([{ text: 'Gold.', failed: false }]);
  }, 40_000);

  test('requires no approval if its person is alone with agents', async () => {
    await ask([]);
    await untilPosted();
    expect(posted()).toEqual([{ text: 'Gold.', failed: false }]);
  }, 40_000);

  test("requires no approval if a rule of the agent's owner allows it", async () => {
    const rule = { tool: 'post_answer', decision: 'allow', evenIfTainted: true } as const;
    await ask([guest], { policy: { ...DEFAULT_POLICY, mode: 'custom', rules: [rule] } });
    await untilPosted();
    expect(posted()).toEqual([{ text: 'Gold.', failed: false }]);
  }, 40_000);
});
