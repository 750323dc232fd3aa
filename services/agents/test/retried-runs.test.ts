import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
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
  await cancel(by, id);
  stage.tools.clear();
  return id;
}

async function cancel(by: Caller, runId: string): Promise<void> {
  await stage.clients.runs.cancelRun(CancelRunRequest.fromPartial({ runId }), await stage.stage.as(by));
  await stage.until(by, runId, 'canceled');
}

/** Starts a run whose resources the stage cannot give it, and cancels it. */
async function canceledWith(by: Caller, more: object): Promise<string> {
  const { id } = await stage.start(by, await stage.createAgent(), more);
  await cancel(by, id);
  return id;
}

const retry = async (by: Caller, retryOf: string, more: object = {}) =>
  stage.clients.runs.createRun(CreateRunRequest.fromPartial({ retryOf, ...more }), await stage.stage.as(by));

async function repeated(by: Caller, retryOf: string) {
  stage.model.next({ text: 'Done.' });
  const { id } = await retry(by, retryOf);
  return stage.until(by, id, 'completed');
}

function readable(): string {
  const id = newId();
  stage.readable.add(id);
  return id;
}

const input = (value: object) => Buffer.from(JSON.stringify(value));

test('messages of a viewer stay untrusted in a run that an administrator repeats', async () => {
  const run = await repeated(admin, await canceled(viewer));
  expect(run).toMatchObject({ tainted: true, taintSources: [{ type: 'guest', id: viewer.userId, name: 'Vic' }] });
}, 40_000);

test("people's own messages are trusted in their own runs", async () => {
  expect((await repeated(viewer, await canceled(viewer))).tainted).toBe(false);
  expect((await repeated(admin, await canceled(admin))).tainted).toBe(false);
}, 40_000);

test('a repeated run keeps its resources, unless the request names others', async () => {
  const [first, second, attachment] = [readable(), readable(), readable()];
  const given = { input: input({ text: 'Do it.', attachments: [attachment] }), resourceIds: [first] };
  const id = await canceledWith(viewer, given);
  const resourcesOf = async (more: object) => {
    const again = await retry(viewer, id, more);
    await cancel(viewer, again.id);
    return (await stage.records.runs.get(again.id))?.resourceIds;
  };
  expect(await resourcesOf({})).toEqual([first, attachment]);
  expect(await resourcesOf({ resourceIds: [second] })).toEqual([second, attachment]);
}, 40_000);

test('faults of a request come before the state of the run that it repeats', async () => {
  const id = await canceled(viewer);
  const { id: completed } = await repeated(viewer, id);
  await expect(retry(viewer, completed)).rejects.toMatchObject({ reason: 'run_not_retryable' });
  await expect(retry(viewer, completed, { input: input({ text: 'Else.' }) })).rejects.toMatchObject({
    ...{ reason: 'ambiguous_target', param: 'input' },
  });
}, 40_000);

test('a resource that cannot be read is named by the field of the request that has it', async () => {
  const [seen, unseen] = [readable(), newId()];
  const start = async (more: object) => stage.start(viewer, await stage.createAgent(), more);
  const fault = (param: string) => ({ reason: 'not_found', param });
  await expect(start({ resourceIds: [seen, unseen] })).rejects.toMatchObject(fault('resource_ids[1]'));
  const attachments = { input: input({ text: 'Do it.', attachments: [seen, unseen] }) };
  await expect(start({ ...attachments, resourceIds: [seen] })).rejects.toMatchObject(fault('input.attachments[1]'));
  const id = await canceledWith(viewer, { input: input({ text: 'Do it.', attachments: [seen] }) });
  stage.readable.delete(seen);
  await expect(retry(viewer, id)).rejects.toMatchObject(fault('retry_of'));
}, 40_000);
