import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '@commonplace/kit/auth';
import { CreateRunRequest } from '@commonplace/proto/agents/v1/run_service.js';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type AgentStage, openAgentStage } from './stage.js';

// Tests how runs end whose person loses access while a tool is at work.

let it: AgentStage;
let by: Caller;
/** What happens while the tool of a run is at work. */
let meanwhile: () => Promise<void> | void;

beforeAll(async () => {
  it = await openAgentStage();
  it.tools.set('work', {
    act: async () => {
      await meanwhile();
      return {};
    },
  });
}, 60_000);
afterAll(() => it?.close());

beforeEach(() => {
  it.model.reset();
  it.model.script({
    replies: [{ toolCalls: [{ id: 'c1', name: 'work', arguments: { what: 'it' } }] }, { text: 'Too late.' }],
  });
  by = it.person('Person');
});
afterEach(() => {
  it.letAct(() => true);
  delete it.org.orgId;
});

const startWithAgent = async () => (await it.start(by, await it.createAgent())).id;
const startAssistant = async () => {
  const request = { workspaceId: it.workspaceId, input: Buffer.from('"Do it."') };
  return (await it.clients.runs.createRun(CreateRunRequest.fromPartial(request), await it.stage.as(by))).id;
};

/** Returns a run as its record is when it has ended, since its person may no longer see it. */
async function ended(runId: string) {
  for (;;) {
    const run = await it.records.runs.get(runId);
    if (run?.finishedAt !== undefined) return run;
    await sleep(50);
  }
}

test.each([
  ['an agent', startWithAgent],
  ['the built-in assistant', startAssistant],
])('a run of %s ends when the account of its person is disabled', async (_, start) => {
  meanwhile = async () => {
    it.letAct((userId) => userId !== by.userId);
    await sleep(1_100);
  };
  const run = await ended(await start());
  expect(run).toMatchObject({ status: 'failed', error: { code: 'permission_lost' } });
  expect(it.model.calls).toHaveLength(1);
});

test.each([
  ['an agent', startWithAgent],
  ['the built-in assistant', startAssistant],
])('a run of %s ends when its person has left its workspace', async (_, start) => {
  meanwhile = async () => {
    it.members.delete(by.userId);
    it.orgPeople.add(by.userId);
    await sleep(2_100);
  };
  const run = await ended(await start());
  expect(run).toMatchObject({ status: 'failed', error: { code: 'permission_lost' } });
  expect(it.model.calls).toHaveLength(1);
});

test('a run is canceled when its Org is deleted', async () => {
  meanwhile = async () => {
    it.org.orgId = '';
    it.members.delete(by.userId);
    await sleep(2_100);
  };
  const run = await ended(await startWithAgent());
  expect(run).toMatchObject({ status: 'canceled', cancelReason: 'org_deleted' });
  expect(run.error).toBeUndefined();
  expect(it.model.calls).toHaveLength(1);
});
