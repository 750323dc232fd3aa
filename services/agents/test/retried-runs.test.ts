import type { Caller } from '@commonplace/kit/auth';
import { CancelRunRequest, CreateRunRequest } from '@commonplace/proto/agents/v1/run_service.js';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type AgentStage, openAgentStage } from './stage.js';

// Administrators of a workspace may repeat runs of others with their own rights; the input then counts as untrusted.

let stage: AgentStage;
let admin: Caller;
let viewer: Caller;

beforeAll(async () => {
  stage = await openAgentStage();
  admin = stage.person('Ada', 'admin');
  viewer = stage.person('Vic', 'viewer');
});
afterAll(() => stage.close());
beforeEach(() => stage.model.reset());

/** Starts a run as a person and cancels it. */
async function canceled(by: Caller): Promise<string> {
  const agent = await stage.createAgent();
  stage.tools.set('halt', { plan: { action: 'delete', risk: 'medium' } });
  stage.model.next({ toolCalls: [{ id: 'c1', name: 'halt', arguments: { what: 'now' } }] });
  const { id } = await stage.start(by, agent);
  await stage.until(by, id, 'awaiting_approval');
  await stage.clients.runs.cancelRun(CancelRunRequest.fromPartial({ runId: id }), await stage.stage.as(by));
  await stage.until(by, id, 'canceled');
  stage.tools.clear();
  return id;
}

async function repeated(by: Caller, retryOf: string) {
  stage.model.next({ text: 'Done.' });
  const { id } = await stage.clients.runs.createRun(
    CreateRunRequest.fromPartial({ retryOf }),
    await stage.stage.as(by),
  );
  return stage.until(by, id, 'completed');
}

test('messages of a viewer stay untrusted in a run that an administrator repeats', async () => {
  const run = await repeated(admin, await canceled(viewer));
  expect(run).toMatchObject({ tainted: true, taintSources: [{ type: 'guest', id: viewer.userId, name: 'Vic' }] });
}, 40_000);

test("people's own messages are trusted in their own runs", async () => {
  expect((await repeated(viewer, await canceled(viewer))).tainted).toBe(false);
  expect((await repeated(admin, await canceled(admin))).tainted).toBe(false);
}, 40_000);
