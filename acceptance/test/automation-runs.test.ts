import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Ask, countEffects, createEffectScene, type EffectScene } from '../src/automation-effects.js';
import { eventually } from '../src/eventually.js';
import { type Person, signUp } from '../src/people.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/** Tests runs of automations with all services. */

interface Step {
  readonly action_id: string;
  readonly type: string;
  readonly status: string;
  readonly attempt: number;
  readonly input: Record<string, unknown> | null;
  readonly output: Record<string, unknown> | null;
}

interface Run {
  readonly id: string;
  readonly automation_id: string;
  readonly status: string;
  readonly skip_reason: string | null;
  readonly steps: readonly Step[];
  readonly error: { readonly code: string; readonly action_id: string | null } | null;
  readonly retry_of: string | null;
  readonly finished_at: string | null;
}

let system: OwnSystem;
let owner: Person;
let mate: Person;
let scene: EffectScene;
let server: Server;
let url: string;
const received: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${request.headers['webhook-id']}`);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"answer":42}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  system = await startSystem({ COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_URL_ALLOWLIST: '127.0.0.1' });
  [owner, mate] = [await signUp(system, 'Owner'), await signUp(system, 'Mate')];
  scene = await createEffectScene(ask, owner.user.id);
  await owner.post(`/workspaces/${scene.workspaceId}/members`, { user_id: mate.user.id, role: 'viewer' });
}, 180_000);

afterAll(async () => {
  await system?.stop();
  server?.close();
});

const ask: Ask = async (method, path, body) => (await owner.send(method, path, body)).data as never;

const automate = (actions: readonly object[], more: object = {}): Promise<{ id: string }> => {
  const body = { name: 'Own', workspace_id: scene.workspaceId, trigger: { type: 'manual' }, actions, ...more };
  return ask<{ id: string }>('POST', '/automations', body);
};
const start = (id: string, input: object = {}, more: object = {}): Promise<Run> =>
  ask<Run>('POST', `/automations/${id}/run`, { input, ...more });
const pathOf = ({ id, automation_id }: Run): string => `/automations/${automation_id}/runs/${id}`;
const until = (run: Run, ...statuses: string[]): Promise<Run> =>
  eventually(async () => {
    const found = await ask<Run>('GET', pathOf(run));
    if (!statuses.includes(found.status)) throw new Error(`it is ${found.status}: ${JSON.stringify(found.error)}`);
    return found;
  }, 60_000);

test('content that a webhook makes an automation write is untrusted, and that of a person is not', async () => {
  const title = { title: 'By {{trigger.type}}' };
  const trigger = { type: 'webhook' };
  const body = { name: 'Hook', workspace_id: scene.workspaceId, trigger };
  const actions = [{ id: 'item', type: 'create_work_item', config: title }];
  const made = await ask<{ id: string; webhook_url: string }>('POST', '/automations', { ...body, actions });
  const sent = await fetch(made.webhook_url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const { run_id: id } = ((await sent.json()) as { data: { run_id: string } }).data;
  const untrusted = async (run: Pick<Run, 'id' | 'automation_id'>) => {
    const { steps } = await until(run as Run, 'completed');
    return (await ask<{ untrusted: boolean }>('GET', `/work-items/${steps[0]?.output?.id}`)).untrusted;
  };
  expect(await untrusted({ id, automation_id: made.id })).toBe(true);
  expect(await untrusted(await start(made.id))).toBe(false);
});

test('every kind of action takes effect once, in the name of the automation', async () => {
  const run = await until(await start(scene.automationId, { name: 'once' }), 'completed');
  expect(run.steps.map(({ status, attempt }) => [status, attempt])).toEqual(Array(9).fill(['completed', 1]));
  const counts = await eventually(async () => {
    const found = (await countEffects(ask, scene, ['once'])).get('once') ?? {};
    expect(Object.values(found)).toEqual(Array(9).fill(1));
    return found;
  }, 30_000);
  expect(Object.keys(counts)).toHaveLength(9);
  const made = await ask<{ created_by: { type: string } }>('GET', `/resources/${run.steps[0]?.output?.id}`);
  expect(made.created_by).toMatchObject({ type: 'automation', id: scene.automationId });
}, 90_000);

test('a list shows runs with their steps, and what they have read to people who may read it', async () => {
  const { items } = await ask<{ items: Run[] }>('GET', `/automations/${scene.automationId}/runs?status=completed`);
  expect(items[0]?.steps[0]?.output).toHaveProperty('id');
  const seen = (await mate.get<{ items: Run[] }>(`/automations/${scene.automationId}/runs`)).data.items;
  expect(seen[0]).toMatchObject({ id: items[0]?.id, status: 'completed' });
  expect(seen[0]?.steps.map(({ input, output }) => [input, output])).toEqual(Array(9).fill([null, null]));
  expect((await mate.post(`/automations/${scene.automationId}/run`, {})).status).toBe(403);
});

test('a dry run changes nothing', async () => {
  const run = await until(await start(scene.automationId, { name: 'dry' }, { dry_run: true }), 'completed');
  expect(run.steps.map(({ status }) => status)).toEqual(Array(9).fill('planned'));
  expect(run.steps[0]?.input).toMatchObject({ name: 'dry' });
  expect(Object.values((await countEffects(ask, scene, ['dry'])).get('dry') ?? {})).toEqual(Array(9).fill(0));
});

test('searches, branches and requests pass on their results', async () => {
  const { id } = await automate([
    { id: 'find', type: 'search', config: { query: 'Begin', mode: 'keyword' } },
    {
      ...{ id: 'any', type: 'condition' },
      config: { conditions: [{ path: 'steps.find.output.total', op: 'gte', value: 1 }] },
    },
    { id: 'call', type: 'http_request', config: { url: `${url}/{{steps.find.output.items[0].name}}` } },
    { id: 'last', type: 'stop', config: { message: 'Got {{steps.call.output.body.answer}}' } },
  ]);
  const run = await eventually(async () => {
    const found = await until(await start(id), 'completed');
    // The search finds the latest write a moment later.
    expect(found.steps).toHaveLength(4);
    return found;
  }, 60_000);
  expect(run.steps[3]?.output).toMatchObject({ message: 'Got 42' });
  expect(received.at(-1)).toMatch(/^POST \/Page \S+$/);
}, 90_000);

describe('a waiting run', () => {
  test('is canceled within seconds, and the ones behind it continue in order', async () => {
    const { id } = await automate([
      {
        type: 'condition',
        config: { conditions: [{ path: 'trigger.input.waits', op: 'eq', value: true }], else: 'goto:doc' },
      },
      { type: 'delay', config: { seconds: 3600 } },
      { id: 'doc', type: 'create_resource', config: { type: 'document', name: 'Turn {{trigger.input.n}}' } },
    ]);
    const first = await start(id, { waits: true, n: 0 });
    await until(first, 'waiting');
    const behind = [];
    for (let n = 1; n <= 4; n++) behind.push(await start(id, { n }));
    expect(behind.map(({ status }) => status)).toEqual(Array(4).fill('queued'));
    const canceled = await ask<Run>('POST', `${pathOf(behind[0] as Run)}/cancel`, { reason: 'No.' });
    expect(canceled.status).toBe('canceled');
    const archive = (mode: string) => ask('POST', `/workspaces/${scene.workspaceId}/archive`, { mode });
    await archive('archive');
    const archived = await owner.post(`${pathOf(first)}/cancel`, {});
    expect([archived.status, archived.error.code]).toEqual([409, 'workspace_archived']);
    await archive('unarchive');
    await ask('POST', `${pathOf(first)}/cancel`, {});
    expect((await until(first, 'canceled')).steps.map(({ status }) => status)).toEqual(['completed', 'canceled']);
    const ended = [];
    for (const run of behind.slice(1)) ended.push(await until(run, 'completed'));
    const at = ended.map(({ finished_at }) => finished_at ?? '');
    expect([...at].sort()).toEqual(at);
    const again = await owner.post(`${pathOf(ended[0] as Run)}/cancel`, {});
    expect([again.status, again.error.code]).toEqual([409, 'run_not_cancelable']);
  }, 90_000);

  test('continues after a restart', async () => {
    const { id } = await automate([
      { type: 'delay', config: { seconds: 2 } },
      { type: 'create_resource', config: { type: 'document', name: 'After the restart' } },
    ]);
    const run = await start(id);
    await until(run, 'waiting');
    await system.kill();
    await system.restart();
    expect((await until(run, 'completed')).steps.map(({ status }) => status)).toEqual(['completed', 'completed']);
  }, 120_000);
});

test('a failed run continues from its failed action, without repeating earlier ones', async () => {
  const { id } = await automate([
    { id: 'doc', type: 'create_resource', config: { type: 'document', name: 'Kept' } },
    { id: 'tag', type: 'add_tag', config: { resource_id: '{{trigger.input.id}}', name: 'kept' } },
  ]);
  const failed = await until(await start(id, { id: '00000000-0000-4000-8000-000000000009' }), 'failed');
  expect(failed.error).toMatchObject({ code: 'not_found', action_id: 'tag' });
  const fixed = { id: 'tag', type: 'add_tag', config: { resource_id: '{{steps.doc.output.id}}', name: 'kept' } };
  const doc = { id: 'doc', type: 'create_resource', config: { type: 'document', name: 'Kept' } };
  await ask('PATCH', `/automations/${id}`, { actions: [doc, fixed] });
  const pinned = await until(await ask<Run>('POST', `${pathOf(failed)}/retry`, {}), 'failed');
  expect(pinned.retry_of).toBe(failed.id);
  const again = await ask<Run>('POST', `${pathOf(failed)}/retry`, { use_current: true });
  const done = await until(again, 'completed');
  expect(done.steps[0]?.output).toEqual(failed.steps[0]?.output);
  const { items } = await ask<{ items: { name: string }[] }>(
    'GET',
    `/workspaces/${scene.workspaceId}/resources?limit=100`,
  );
  expect(items.filter(({ name }) => name === 'Kept')).toHaveLength(1);
  expect((await owner.post(`${pathOf(done)}/retry`, {})).error.code).toBe('run_not_retryable');
}, 90_000);

test('a disabled automation does not run', async () => {
  const { id } = await automate([{ type: 'stop', config: {} }]);
  await ask('PATCH', `/automations/${id}`, { is_active: false });
  const refused = await owner.post(`/automations/${id}/run`, {});
  expect([refused.status, refused.error.code]).toEqual([409, 'automation_inactive']);
});

test('an automation that calls its own webhook starts a skipped run, where the operator allows the call at all', async () => {
  const made = await owner.post<{ id: string; webhook_url: string }>('/automations', {
    workspace_id: scene.workspaceId,
    name: 'Itself',
    trigger: { type: 'webhook' },
    actions: [{ type: 'stop' }],
  });
  const { id, webhook_url: itself } = made.data;
  const actions = [{ type: 'http_request', config: { url: itself } }];
  expect((await owner.patch(`/automations/${id}`, { actions })).status).toBe(200);
  await fetch(itself, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  await eventually(async () => {
    const { items } = (await owner.get<{ items: readonly Run[] }>(`/automations/${id}/runs`)).data;
    expect(items.map((run) => [run.status, run.skip_reason]).sort()).toEqual([
      ['completed', null],
      ['skipped', 'loop'],
    ]);
  });
});
