import type { Caller } from '@commonplace/kit/auth';
import { eventually } from '@commonplace/kit/testing';
import { CancelRunRequest, WatchRunRequest } from '@commonplace/proto/agents/v1/run_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AgentRecord } from '../src/stores/agents.js';
import { type AgentStage, openAgentStage } from './stage.js';

let it: AgentStage;
let by: Caller;
let agent: AgentRecord;

beforeAll(async () => {
  it = await openAgentStage();
}, 60_000);
afterAll(() => it?.close());

beforeEach(async () => {
  it.tools.clear();
  it.calls.length = 0;
  it.model.reset();
  by = it.person('Asker');
  agent = await it.createAgent();
});

let questions = 0;

/** Starts a run whose model calls tools, and waits until all these calls are in progress. */
async function calling(...names: string[]): Promise<string> {
  const question = `Do task ${++questions}.`;
  const toolCalls = names.map((name) => ({ id: name, name, arguments: { what: 'it' } }));
  it.model.script({ match: question, replies: [{ toolCalls }, { text: 'Done.' }] });
  const { id } = await it.start(by, agent, { input: Buffer.from(JSON.stringify(question)) });
  await eventually(async () => expect(it.calls.map(({ tool }) => tool).sort()).toEqual([...names].sort()));
  return id;
}

async function cancel(runId: string) {
  await it.clients.runs.cancelRun(CancelRunRequest.fromPartial({ runId }), await it.stage.as(by));
}

/** A tool whose calls end when the test lets them. */
function heldTool(name: string, plan: object = {}): (result?: object) => void {
  let answer: (result: object) => void = () => {};
  const act = () =>
    new Promise<object>((resolve) => {
      answer = resolve;
    });
  it.tools.set(name, { plan, act });
  return (result = {}) => answer(result);
}

const stepOf = async (runId: string, name: string) => {
  const { steps } = await it.run(by, runId);
  return steps.find((step) => step.name === name);
};

describe('a call in progress when its run is canceled', () => {
  test('may still finish, and its step says what has happened', async () => {
    const finish = heldTool('note');
    const id = await calling('note');
    await cancel(id);
    finish({ text: 'noted', resourceIds: [] });
    await it.until(by, id, 'canceled');
    expect(await stepOf(id, 'note')).toMatchObject({ status: 'STEP_STATUS_COMPLETED', late: false });
  }, 20_000);

  test('is unknown if it takes longer, until its late result says what has happened', async () => {
    const finish = heldTool('note');
    const fail = heldTool('pay', { effect: 'once' });
    const id = await calling('note', 'pay');
    await cancel(id);
    await it.until(by, id, 'canceled');
    expect(await stepOf(id, 'note')).toMatchObject({ status: 'STEP_STATUS_UNKNOWN', late: false });
    finish({ text: 'noted' });
    fail({ text: 'no money', isError: true });
    await eventually(async () => {
      expect(await stepOf(id, 'note')).toMatchObject({ status: 'STEP_STATUS_COMPLETED', late: true });
      const error = { code: 'tool_error', message: 'no money' };
      expect(await stepOf(id, 'pay')).toMatchObject({ status: 'STEP_STATUS_FAILED', late: true, error });
    });
    expect(it.model.calls.filter(({ request }) => JSON.stringify(request).includes('noted'))).toEqual([]);
  }, 20_000);

  test('is canceled at once if it only reads', async () => {
    heldTool('look', { action: 'read', effect: 'none' });
    const id = await calling('look');
    await cancel(id);
    await it.until(by, id, 'canceled');
    expect(await stepOf(id, 'look')).toMatchObject({ status: 'STEP_STATUS_CANCELED' });
  }, 20_000);
});

test('a call in progress ends before its run fails because of another one', async () => {
  const finish = heldTool('note');
  const fail = heldTool('pay', { effect: 'once' });
  agent = await it.createAgent({ onUnknown: 'fail' });
  const id = await calling('note', 'pay');
  fail(Promise.reject(new Error('The answer was lost.')));
  await new Promise((resolve) => setTimeout(resolve, 200));
  finish();
  const run = await it.until(by, id, 'failed');
  expect(run.error?.code).toBe('unknown_outcome');
  expect(await stepOf(id, 'note')).toMatchObject({ status: 'STEP_STATUS_COMPLETED' });
}, 20_000);

test('the text that a canceled run without a session has written stays in its stream', async () => {
  const question = `Do task ${++questions}.`;
  const text = Array.from({ length: 200 }, (_, i) => `word ${i} `);
  it.model.script({ match: question, replies: [{ text, delayMs: 20 }] });
  const { id } = await it.start(by, agent, { input: Buffer.from(JSON.stringify(question)) });
  const streamed = streamOf(id);
  await eventually(async () => expect((await it.records.runs.get(id))?.draft).toMatch(/word 3/), 10_000);
  await cancel(id);
  const { joined, content } = await streamed;
  expect(joined).toMatch(/^word 0 word 1 /);
  expect(content).toBe(joined);
  expect(await streamOf(id)).toEqual({ joined, content });
  expect((await it.run(by, id)).output).toBeUndefined();
}, 20_000);

/** Reads the stream of a run to its end. Returns its joined text, and the content of the completed message. */
async function streamOf(runId: string): Promise<{ joined: string; content: string | undefined }> {
  let joined = '';
  let content: string | undefined;
  const request = WatchRunRequest.fromPartial({ runId });
  for await (const event of it.clients.runs.watchRun(request, await it.stage.as(by))) {
    if (event.messageSnapshot !== undefined) joined = event.messageSnapshot.text;
    if (event.messageRestarted !== undefined) joined = '';
    joined += event.messageDelta?.text ?? '';
    content = event.messageCompleted?.content ?? content;
  }
  return { joined, content };
}
