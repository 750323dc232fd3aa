import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, NotFound, Timeout, Unavailable } from '@commonplace/kit/errors';
import { createEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { createEnvelope, SECRETS_KEY } from '@commonplace/kit/secrets';
import { inWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { RunStatus } from '@commonplace/proto/agents/v1/run.js';
import { ListAutomationRunsRequest } from '@commonplace/proto/automations/v1/automation_service.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { secretOwner } from '../src/definitions/secrets.js';
import { openRunStage, type RunStage, SCOPES } from './run-stage.js';

/** Milliseconds after which a change of the Org's list is known without an event. */
const CACHED_MS = 2100;
const MASTER = Buffer.alloc(32, 7);

interface Received {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let stage: RunStage;
let server: Server;
let url: string;
const received: Received[] = [];
let answers: { status: number; body?: string; headers?: Record<string, string>; cut?: boolean }[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      received.push({ url: request.url ?? '', headers: request.headers, body });
      const { status, body: text = '{"ok":true}', headers, cut } = answers.shift() ?? { status: 200 };
      if (cut) return request.socket.destroy();
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stage = await openRunStage({
    COMMONPLACE_URL_ALLOWLIST: '127.0.0.1,localhost',
    COMMONPLACE_SECRETS_KEY: MASTER.toString('base64'),
    COMMONPLACE_AUTOMATION_QUEUE: '3',
    COMMONPLACE_AUTOMATION_FAILURES: '3',
  });
}, 60_000);

afterAll(async () => {
  await stage?.close();
  server?.close();
});

const json = (bytes: Buffer | undefined) => JSON.parse(String(bytes));
const input = (value: object) => ({ input: Buffer.from(JSON.stringify(value)) });
const note = (name: string) => ({ type: 'create_resource', config: { type: 'document', name } }) as const;
const DELAY = { type: 'delay', config: { seconds: 3600 } } as const;
const madeBy = (name: string) => stage.effects.filter(({ of }) => of === name);
const statusesOf = (steps: readonly { status: string }[]) => steps.map(({ status }) => status.split('_').at(-1));

test('a run executes its actions one by one and shows them', async () => {
  const { owner, create, start, until, effects, workspaceId } = stage;
  const automation = await create([
    { id: 'doc', ...note('Note of {{trigger.input.name}}') },
    {
      ...{ id: 'said', type: 'comment' },
      config: { resource_id: '{{steps.doc.output.id}}', body: 'See {{steps.doc.output.name}}' },
    },
  ]);
  const run = await until(owner, await start(owner, automation.id, input({ name: 'Ada' })), 'completed');
  expect(run.steps.map(({ actionId, status, attempt }) => [actionId, status, attempt])).toEqual([
    ['doc', 'AUTOMATION_STEP_STATUS_COMPLETED', 1],
    ['said', 'AUTOMATION_STEP_STATUS_COMPLETED', 1],
  ]);
  expect(json(run.steps[1]?.input).body).toBe('See Note of Ada');
  const made = effects.filter(({ of }) => of.includes('Note of Ada'));
  expect(made.map(({ what }) => what)).toEqual(['create_resource', 'comment']);
  expect(made[0]?.caller).toMatchObject({
    ...{ userId: owner.userId, automation: { id: automation.id, name: 'Automation' }, chain: [automation.id] },
    credential: { workspaceIds: [workspaceId] },
  });
});

test('new rows have ids, which later actions can use', async () => {
  const { owner, create, start, until, effects } = stage;
  const rows = [{ Status: 'a' }, ['b'], { id: 'other', cells: { Status: 'c' } }, ['d', 'too long']];
  const automation = await create([
    { id: 'add', type: 'append_rows', config: { table_id: crypto.randomUUID(), rows } },
    { id: 'say', ...note('Row {{steps.add.output.row_ids[1]}} of {{steps.add.output.row_ids.length}}') },
  ]);
  const run = await until(owner, await start(owner, automation.id), 'completed');
  const { row_ids: ids } = json(run.steps[0]?.output);
  expect(new Set(ids).size).toBe(4);
  expect(json(run.steps[1]?.input).name).toBe(`Row ${ids[1]} of 4`);
  const added = effects.find(({ of }) => of.includes(ids[0]));
  expect(JSON.parse(added?.of ?? '')).toEqual([
    { id: ids[0], cells: { Status: 'a' } },
    { id: ids[1], cells: { c1: 'b' } },
    { id: ids[2], cells: { Status: 'c' } },
    ['d', 'too long'],
  ]);
});

test('conditions are evaluated when the run starts; a branch skips actions', async () => {
  const { owner, create, start, until } = stage;
  const conditions = [{ path: 'trigger.input.kind', op: 'eq', value: 'bug' }] as const;
  const automation = await create(
    [
      {
        ...{ id: 'if', type: 'condition' },
        config: { conditions: [{ path: 'trigger.input.urgent', op: 'eq', value: true }], else: 'goto:last' },
      },
      { id: 'urgent', ...note('urgent {{trigger.input.n}}') },
      { id: 'last', ...note('last {{trigger.input.n}}') },
    ],
    { conditions },
  );
  const other = await until(owner, await start(owner, automation.id, input({ kind: 'idea' })), 'skipped');
  expect(other).toMatchObject({ skipReason: 'conditions_not_met', steps: [] });
  const plain = await until(owner, await start(owner, automation.id, input({ kind: 'bug', n: 1 })), 'completed');
  expect(statusesOf(plain.steps)).toEqual(['COMPLETED', 'SKIPPED', 'COMPLETED']);
  const urgent = input({ kind: 'bug', n: 2, urgent: true });
  expect(statusesOf((await until(owner, await start(owner, automation.id, urgent), 'completed')).steps)).toEqual(
    Array(3).fill('COMPLETED'),
  );
  expect([madeBy('urgent 1').length, madeBy('urgent 2').length, madeBy('last 1').length]).toEqual([0, 1, 1]);
});

test('queued runs execute one at a time in the order of their triggers; runs beyond the limit are skipped', async () => {
  const { owner, create, trigger, until, state, effects } = stage;
  const automation = await create([note('begin {{trigger.input.n}}'), DELAY, note('end {{trigger.input.n}}')]);
  const runs = [];
  for (let n = 0; n < 6; n++) runs.push(await trigger(automation, { input: { input: { n } } }));
  expect(runs.map(({ status, skipReason }) => skipReason ?? status)).toEqual([
    ...['queued', 'queued', 'queued', 'queued', 'queue_full', 'queue_full'],
  ]);
  for (const run of runs.slice(0, 4)) {
    await until(owner, run, 'waiting');
    state.ahead += 3_601_000;
    await stage.client.listAutomationRuns(
      ListAutomationRunsRequest.fromPartial({ automationId: automation.id }),
      await stage.stage.as(owner),
    );
    await nudge(run.id);
    await until(owner, run, 'completed');
  }
  const order = effects.map(({ of }) => of).filter((of) => /^(begin|end) \d$/.test(of));
  expect(order).toEqual([0, 1, 2, 3].flatMap((n) => [`begin ${n}`, `end ${n}`]));
}, 60_000);

/** Makes the queue read the clock again after it was moved forward. */
async function nudge(runId: string): Promise<void> {
  const { stage: open, records } = stage;
  const work = open.own.store.begin();
  const run = await work.get(records.runs, runId);
  if (run === undefined) return;
  work.replace(records.runs, run, { ...run });
  await work.commit().catch(() => {});
}

test('skip starts no second run, allow starts all at once, and one id starts one run', async () => {
  const { owner, create, trigger, until, start } = stage;
  const skipping = await create([DELAY], { concurrency: 'skip' });
  const first = await trigger(skipping);
  expect((await trigger(skipping)).skipReason).toBe('concurrency');
  expect(await start(owner, skipping.id)).toMatchObject({ skipReason: 'concurrency' });
  await until(owner, first, 'waiting');
  const allowing = await create([DELAY], { concurrency: 'allow' });
  const both = [await trigger(allowing), await trigger(allowing)];
  for (const run of both) await until(owner, run, 'waiting');
  const id = newId();
  const again = [await trigger(allowing, { id }), await trigger(allowing, { id })];
  expect(again[0]?.seq).toBe(again[1]?.seq);
});

test('a failed action is retried if that may help, and then on_error applies', async () => {
  const { owner, create, start, until, faults, state } = stage;
  const retry = { maxAttempts: 1, backoffSeconds: 1 };
  let failures = 0;
  faults.answered = (method) => {
    if (method === 'search' && failures++ < 1) throw Timeout();
  };
  const passing = await create([{ type: 'search', config: { query: 'x' } }], { retry });
  const run = await until(owner, await start(owner, passing.id), 'completed');
  expect(run.steps[0]).toMatchObject({ attempt: 2, error: undefined });
  faults.answered = () => {};

  state.denied.add('comment');
  const comment = { type: 'comment', config: { resource_id: newId(), body: 'x' } } as const;
  const branches = await create([
    { id: 'first', ...comment, onError: 'continue' },
    { id: 'second', ...comment, onError: 'goto:end' },
    { id: 'left', ...note('left out') },
    { id: 'end', ...note('after {{steps.first.error.code}}') },
    { id: 'stops', ...comment },
    { id: 'never', ...note('never') },
  ]);
  const failed = await until(owner, await start(owner, branches.id), 'failed');
  state.denied.clear();
  expect(statusesOf(failed.steps)).toEqual(['FAILED', 'FAILED', 'SKIPPED', 'COMPLETED', 'FAILED']);
  expect(failed.error).toMatchObject({ code: 'insufficient_role', actionId: 'stops', retryable: false });
  expect([madeBy('after insufficient_role').length, madeBy('left out').length, madeBy('never').length]).toEqual([
    1, 0, 0,
  ]);
});

test('an action waits for a service that is away, which uses up none of its retries', async () => {
  const { owner, create, start, until, faults } = stage;
  let failures = 0;
  faults.answered = (method) => {
    if (method === 'search' && failures++ < 2) throw Unavailable();
  };
  const retry = { maxAttempts: 0, backoffSeconds: 1 };
  const automation = await create([{ type: 'search', config: { query: 'x' } }], { retry });
  const run = await until(owner, await start(owner, automation.id), 'completed');
  faults.answered = () => {};
  expect(run.steps[0]).toMatchObject({ attempt: 3, error: undefined });
});

test('an action that waits for a new token uses up none of its retries', async () => {
  const { owner, create, start, until, faults } = stage;
  let refusals = 0;
  faults.answered = (method) => {
    if (method === 'search' && refusals++ < 2) throw new AppError('UNAUTHENTICATED', 'invalid_credentials', 'Expired.');
  };
  const retry = { maxAttempts: 0, backoffSeconds: 1 };
  const automation = await create([{ type: 'search', config: { query: 'x' } }], { retry });
  const run = await until(owner, await start(owner, automation.id), 'completed');
  faults.answered = () => {};
  expect(run.steps[0]).toMatchObject({ attempt: 3, error: undefined });
});

test('on_error applies before an outage has used up the time of the run', async () => {
  const { owner, create, start, until, faults } = stage;
  faults.answered = (method) => {
    if (method === 'search') throw Unavailable();
  };
  const search = { id: 'find', type: 'search', config: { query: 'x' } } as const;
  const terms = { timeoutSeconds: 5, concurrency: 'allow' } as const;
  const reacting = await create([{ ...search, onError: 'continue' }, note('during the outage')], terms);
  const stopping = await create([search, note('never during the outage')], terms);
  const ids = [await start(owner, reacting.id), await start(owner, stopping.id)] as const;
  const run = await until(owner, ids[0], 'completed');
  const failed = await until(owner, ids[1], 'failed');
  faults.answered = () => {};
  expect(statusesOf(run.steps)).toEqual(['FAILED', 'COMPLETED']);
  expect(run.steps[0]).toMatchObject({ error: { code: 'service_unavailable' } });
  expect(run.steps[0]?.attempt).toBeGreaterThan(1);
  expect(failed.error).toMatchObject({ code: 'service_unavailable', actionId: 'find', retryable: true });
  expect([madeBy('during the outage').length, madeBy('never during the outage').length]).toEqual([1, 0]);
});

test('a template without a value, and an invalid value, fail the action', async () => {
  const { owner, create, start, until } = stage;
  const automation = await create([
    { id: 'a', ...note('{{trigger.input.missing}}'), onError: 'continue' },
    { id: 'b', type: 'comment', config: { resource_id: '{{trigger.input.id}}', body: 'x' } },
  ]);
  const run = await until(owner, await start(owner, automation.id, input({ id: 17 })), 'failed');
  expect(run.steps.map(({ error }) => error?.code)).toEqual(['template_unresolved', 'invalid_type']);
  expect(run.steps[0]?.error?.message).toBe(
    'config.name {{trigger.input.missing}} has no value and no default: trigger.input has id.',
  );
});

test('a value becomes a text in a field that takes only texts', async () => {
  const { owner, create, start, until } = stage;
  const automation = await create([
    { id: 'doc', ...note('{{trigger.input.n}}') },
    {
      ...{ id: 'say', type: 'comment' },
      config: { resource_id: '{{steps.doc.output.id}}', body: '{{trigger.input.list}}' },
    },
    {
      ...{ id: 'item', type: 'create_work_item' },
      config: { title: '{{trigger.input.yes}}', labels: ['{{trigger.input.n}}', 'x'] },
    },
    { ...{ id: 'none', type: 'stop' }, config: { message: '{{trigger.input.none}}' } },
  ]);
  const data = input({ n: 2026, yes: true, list: [1, { a: 'b' }], none: null });
  const inputs = [
    { type: 'document', name: '2026' },
    { resource_id: expect.any(String), body: '[1,{"a":"b"}]' },
    { title: 'true', labels: ['2026', 'x'] },
    { message: null },
  ];
  const run = await until(owner, await start(owner, automation.id, data), 'completed');
  expect(run.steps.map((step) => json(step.input))).toEqual(inputs);
  const dry = await until(owner, await start(owner, automation.id, { ...data, dryRun: true }), 'completed');
  expect(dry.steps.map((step) => json(step.input))).toEqual(inputs);
});

test('a delay holds no worker, ends on time, and can be canceled', async () => {
  const { owner, create, start, until, state, client, stage: open, records } = stage;
  const automation = await create([DELAY, note('after the delay')], { timeoutSeconds: 60, concurrency: 'allow' });
  const [kept, canceled] = [await start(owner, automation.id), await start(owner, automation.id)];
  const waiting = await until(owner, kept, 'waiting');
  expect(statusesOf(waiting.steps)).toEqual(['WAITING']);
  expect((await records.runs.get(kept.id))?.lease?.holder).toBe('');
  await until(owner, canceled, 'waiting');
  const request = { automationId: automation.id, runId: canceled.id, reason: 'No.' };
  await client.cancelAutomationRun(request, await open.as(owner));
  const ended = await until(owner, canceled, 'canceled');
  expect(statusesOf(ended.steps)).toEqual(['CANCELED']);
  expect((await client.cancelAutomationRun(request, await open.as(owner))).status).toBe(ended.status);
  state.ahead += 3_601_000;
  await nudge(kept.id);
  await until(owner, kept, 'completed');
  expect(madeBy('after the delay')).toHaveLength(1);
  const late = client.cancelAutomationRun({ ...request, runId: kept.id }, await open.as(owner));
  await expect(late).rejects.toMatchObject({ reason: 'run_not_cancelable' });
});

test('a run waits for an agent without a worker, and takes over its answer and its taint', async () => {
  const { owner, create, start, until, agentRuns, finishAgent, stage: open } = stage;
  const automation = await create([
    { id: 'ask', type: 'run_agent', config: { agent_id: newId(), input: 'Do {{trigger.input.what}}' } },
    { id: 'doc', ...note('{{steps.ask.output.text}}') },
    { id: 'more', type: 'run_agent', config: { agent_id: newId(), input: 'More' } },
  ]);
  const run = await start(owner, automation.id, input({ what: 'it' }));
  const waiting = await until(owner, run, 'waiting');
  const agentRunId = waiting.steps[0]?.agentRunId ?? '';
  expect(agentRuns.get(agentRunId)).toMatchObject({ chain: [automation.id], taints: 0 });
  finishAgent(agentRunId, RunStatus.COMPLETED, 'The agent says so');
  const known = agentRuns.get(agentRunId);
  if (known !== undefined) agentRuns.set(agentRunId, { ...known, tainted: true });
  await open.host.bus.publish([finishedAgent(agentRunId)]);
  const second = await eventually(async () => {
    const { steps } = await stage.run(owner, run);
    expect(statusesOf(steps)).toEqual(['COMPLETED', 'COMPLETED', 'WAITING']);
    return steps[2]?.agentRunId ?? '';
  }, 30_000);
  expect(madeBy('The agent says so')).toHaveLength(1);
  await eventually(async () => expect(agentRuns.get(second)).toMatchObject({ taints: 1 }), 10_000);
  await stage.client.cancelAutomationRun(
    { automationId: automation.id, runId: run.id, reason: '' },
    await open.as(owner),
  );
  await until(owner, run, 'canceled');
  expect(agentRuns.get(second)?.canceled).toBe(true);
});

const finishedAgent = (subject: string) =>
  createEvent({ service: 'agents', type: 'agent_run.finished', subject, data: {}, tenant: stage.orgId });

test('a run that exceeds its time limit fails, not counting time in an approval', async () => {
  const { owner, create, start, until, agentRuns, state } = stage;
  const ask = { type: 'run_agent', config: { agent_id: newId(), input: 'x' } } as const;
  const automation = await create([ask], { timeoutSeconds: 30, concurrency: 'allow' });
  const [slow, asking] = [await start(owner, automation.id), await start(owner, automation.id)];
  const ids = [];
  for (const run of [slow, asking]) ids.push((await until(owner, run, 'waiting')).steps[0]?.agentRunId ?? '');
  const awaiting = agentRuns.get(ids[1] ?? '');
  if (awaiting !== undefined) agentRuns.set(awaiting.id, { ...awaiting, status: RunStatus.AWAITING_APPROVAL });
  await stage.stage.host.bus.publish([finishedAgent(ids[1] ?? '')]);
  await eventually(async () => {
    expect((await stage.records.runs.get(asking.id))?.clock).toMatchObject({ isStopped: true });
  }, 10_000);
  state.ahead += 31_000;
  for (const run of [slow, asking]) await nudge(run.id);
  const failed = await until(owner, slow, 'failed');
  expect(failed.error).toMatchObject({ code: 'timeout' });
  expect(agentRuns.get(ids[0] ?? '')?.canceled).toBe(true);
  expect((await stage.run(owner, asking)).status).toMatch(/WAITING|RUNNING/);
});

test('a request is signed, keeps its webhook-id over retries, and shows no secret', async () => {
  const { owner, create, start, until, change, orgId } = stage;
  // Receivers compare the time of a signature with their own.
  stage.state.ahead = 0;
  const envelope = createEnvelope(SECRETS_KEY.parse(MASTER.toString('base64')) as Buffer[]);
  const signing = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
  const automation = await create(
    [
      {
        ...{ id: 'call', type: 'http_request' },
        config: {
          ...{ url: `${url}/hook?key={{secrets.KEY}}`, method: 'POST', sign_with: 'SIGN' },
          headers: { authorization: 'Bearer {{secrets.KEY}}' },
          body: { name: '{{trigger.input.name}}' },
        },
      },
    ],
    { retry: { maxAttempts: 1, backoffSeconds: 1 } },
  );
  const sealed = (name: string, value: string, allowedHosts: string[]) => {
    const owned = secretOwner({ id: automation.id, tenant: orgId }, name);
    return { name, allowedHosts, enteredBy: owner.userId, sealed: envelope.seal(value, owned) };
  };
  const SIGN = sealed('SIGN', signing, ['127.0.0.1']);
  await change(automation, { secrets: [sealed('KEY', 'very-secret', ['127.0.0.1']), SIGN] });
  received.length = 0;
  answers = [{ status: 503 }, { status: 200, body: '{"echo":"very-secret"}' }];
  const run = await until(owner, await start(owner, automation.id, input({ name: 'Ada' })), 'completed');
  expect(received.map((one) => [one.url, one.headers.authorization])).toEqual(
    Array(2).fill(['/hook?key=very-secret', 'Bearer very-secret']),
  );
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  for (const { body, headers } of received) new Webhook(signing).verify(body, headers as Record<string, string>);
  expect(JSON.parse(received[1]?.body ?? '')).toEqual({ name: 'Ada' });
  expect(run.steps[0]?.attempt).toBe(2);
  expect(json(run.steps[0]?.output)).toMatchObject({ status: 200, body: { echo: '***' } });
  expect(json(run.steps[0]?.input).headers.authorization).toBe('Bearer ***');
  expect(JSON.stringify(run.steps.map((step) => [String(step.input), String(step.output)]))).not.toContain(
    'very-secret',
  );

  // Of a response that is too long, and of the message of an error, no part of a secret is left where they are cut.
  answers = [{ status: 200, body: `${'x'.repeat(32_764)}very-secret` }];
  const cut = await until(owner, await start(owner, automation.id, input({ name: 'Ada' })), 'completed');
  expect(String(json(cut.steps[0]?.output).body)).toMatch(/x{10}\*{3}$/);
  answers = [{ status: 400, body: `${'x'.repeat(296)}very-secret` }];
  const failed = await until(owner, await start(owner, automation.id, input({ name: 'Ada' })), 'failed');
  expect(failed.error?.message).toMatch(/x{10}\*{3}$/);
  received.length = 0;

  await change(automation, { secrets: [sealed('KEY', 'very-secret', ['api.example.com']), SIGN] });
  const refused = await until(owner, await start(owner, automation.id, input({ name: 'Ada' })), 'failed');
  expect(refused.error).toMatchObject({ code: 'secret_not_allowed' });
  expect(received).toHaveLength(0);
});

test('a header that cannot be sent fails at once, and nothing is sent', async () => {
  const { owner, create, start, until } = stage;
  const automation = await create([
    { type: 'http_request', config: { url, headers: { 'x-price': '{{trigger.input.price}}' } } },
  ]);
  received.length = 0;
  await until(owner, await start(owner, automation.id, input({ price: '5 £' })), 'completed');
  const failed = await until(owner, await start(owner, automation.id, input({ price: '5 €' })), 'failed');
  expect(failed.error).toMatchObject({ code: 'invalid_value', retryable: false });
  expect(received).toHaveLength(1);
});

test('data of a trigger change neither the path nor the parameters of a URL', async () => {
  const { owner, create, start, until } = stage;
  const place = `${url}/customers/{{trigger.input.id}}/notes?text={{trigger.input.text}}&role=guest`;
  const automation = await create([{ type: 'http_request', config: { url: place } }]);
  received.length = 0;
  const hostile = { id: '../admin', text: 'x&role=admin#' };
  const run = await until(owner, await start(owner, automation.id, input(hostile)), 'completed');
  const sent = '/customers/..%2Fadmin/notes?text=x%26role%3Dadmin%23&role=guest';
  expect(received.map((one) => one.url)).toEqual([sent]);
  expect(json(run.steps[0]?.input).url).toBe(`${url}${sent}`);
  const failed = await until(owner, await start(owner, automation.id, input({ id: '..', text: '' })), 'failed');
  expect(failed.error).toMatchObject({ code: 'invalid_value', retryable: false });
  expect(received).toHaveLength(1);
});

test('a request to this server itself carries the chain of its run, and others carry none', async () => {
  const { owner, create, start, until } = stage;
  const localhost = url.replace('127.0.0.1', 'localhost');
  const automation = await create([
    { id: 'own', type: 'http_request', config: { url, headers: { 'commonplace-chain': 'forged' } } },
    { id: 'other', type: 'http_request', config: { url: localhost } },
  ]);
  received.length = 0;
  await until(owner, await start(owner, automation.id), 'completed');
  expect(received.map(({ headers }) => headers['commonplace-chain'])).toEqual([automation.id, undefined]);
});

test('requests are made only to what the Org lists', async () => {
  const { owner, create, start, until, state } = stage;
  const automation = await create([{ type: 'http_request', config: { url: `${url}/listed` } }]);
  received.length = 0;
  state.urlAllowlist = ['example.org'];
  await sleep(CACHED_MS);
  const failed = await until(owner, await start(owner, automation.id), 'failed');
  expect(failed.error).toMatchObject({ code: 'url_not_allowed' });
  expect(received).toEqual([]);
  state.urlAllowlist = ['127.0.0.1'];
  await sleep(CACHED_MS);
  await until(owner, await start(owner, automation.id), 'completed');
  expect(received.map((one) => one.url)).toEqual(['/listed']);
});

test('a request with once: true is not repeated if its response is lost', async () => {
  const { owner, create, start, until } = stage;
  const automation = await create([{ type: 'http_request', config: { url: `${url}/once`, once: true } }]);
  received.length = 0;
  answers = [{ status: 200, cut: true }];
  const run = await until(owner, await start(owner, automation.id), 'failed');
  expect(statusesOf(run.steps)).toEqual(['UNKNOWN']);
  expect(run.error?.code).toBe('unknown_outcome');
  expect(received).toHaveLength(1);
});

test('a failed run is repeated from its failed action with the outputs of the others, or from the start', async () => {
  const { owner, create, start, until, client, stage: open, state } = stage;
  const automation = await create([
    { id: 'doc', ...note('kept') },
    { id: 'said', type: 'comment', config: { resource_id: '{{steps.doc.output.id}}', body: 'said of kept' } },
  ]);
  state.denied.add('comment');
  const failed = await until(owner, await start(owner, automation.id), 'failed');
  state.denied.clear();
  const request = { automationId: automation.id, runId: failed.id, from: '', useCurrent: false };
  const again = await until(owner, await client.retryAutomationRun(request, await open.as(owner)), 'completed');
  expect(again).toMatchObject({ retryOf: failed.id });
  expect(again.steps.map(({ actionId }) => actionId)).toEqual(['doc', 'said']);
  expect(String(again.steps[0]?.output)).toBe(String(failed.steps[0]?.output));
  expect([madeBy('kept').length, madeBy('said of kept').length]).toEqual([1, 1]);
  const anew = { ...request, from: 'start' };
  await until(owner, await client.retryAutomationRun(anew, await open.as(owner)), 'completed');
  expect(madeBy('kept')).toHaveLength(2);
  const done = client.retryAutomationRun({ ...request, runId: again.id }, await open.as(owner));
  await expect(done).rejects.toMatchObject({ reason: 'run_not_retryable' });
});

test('a run is repeated for another person only if they see its data', async () => {
  const { owner, person, create, start, until, client, stage: open, state } = stage;
  const [editor, admin] = [person('Editor'), person('Admin', 'admin')];
  const automation = await create(
    [
      { id: 'doc', ...note('drawn') },
      { id: 'said', type: 'comment', config: { resource_id: '{{steps.doc.output.id}}', body: 'x' } },
    ],
    { runAs: 'triggering_user' },
  );
  state.denied.add('comment');
  const failed = await until(owner, await start(owner, automation.id, input({ words: 'private' })), 'failed');
  state.denied.clear();
  const retry = async (caller: typeof owner, from: string) => {
    const request = { automationId: automation.id, runId: failed.id, from, useCurrent: false };
    return client.retryAutomationRun(request, await open.as(caller));
  };
  for (const from of ['', 'start']) {
    await expect(retry(editor, from)).rejects.toMatchObject({ reason: 'run_not_retryable' });
  }
  expect(await until(admin, await retry(admin, ''), 'completed')).toMatchObject({ retryOf: failed.id });
  expect(await until(owner, await retry(owner, ''), 'completed')).toMatchObject({ retryOf: failed.id });
});

test('a dry run changes nothing and shows the input of each action', async () => {
  const { owner, create, start, until, effects, events, records } = stage;
  const automation = await create(
    [
      { id: 'doc', ...note('Row {{trigger.row.cells.Status}}') },
      { id: 'said', type: 'comment', config: { resource_id: '{{steps.doc.output.id}}', body: 'x' } },
      { id: 'call', type: 'http_request', config: { url: `${url}/dry` } },
    ],
    {},
    false,
  );
  const before = [effects.length, received.length, events.length];
  const given = input({ row: { cells: { Status: 'Open' } } });
  const run = await until(owner, await start(owner, automation.id, { ...given, dryRun: true }), 'completed');
  expect(statusesOf(run.steps)).toEqual(Array(3).fill('PLANNED'));
  expect(run.steps.map((step) => json(step.input))).toMatchObject([
    { name: 'Row Open' },
    { resource_id: '{{steps.doc.output.id}}' },
    { url: `${url}/dry` },
  ]);
  expect([effects.length, received.length, events.length]).toEqual(before);
  expect(await records.lanes.get(automation.id)).toMatchObject({ active: 0, failureCount: 0 });
});

test('a disabled account acts no longer than a second with the rights that it had', async () => {
  const { create, trigger, person, state, owner, until } = stage;
  const { userId, userName, credential } = person('Disabled');
  const actsAs = { userId, userName, credentialId: credential.id, scopes: SCOPES };
  const automation = await create([note('by the disabled')], { actsAs });
  await until(owner, await trigger(automation), 'completed');
  state.lost = true;
  await sleep(1_100);
  const { error } = await until(owner, await trigger(automation), 'failed');
  state.lost = false;
  expect(error).toMatchObject({ code: 'permission_lost' });
});

test('a run of an Org whose deletion is scheduled waits until it is restored, and does not fail', async () => {
  const { create, trigger, person, state, owner, until, records } = stage;
  const { userId, userName, credential } = person('Patient');
  const actsAs = { userId, userName, credentialId: credential.id, scopes: SCOPES };
  const request = { type: 'http_request', config: { url, body: 'restored' } } as const;
  const automation = await create([request, note('restored')], { actsAs, timeoutSeconds: 30 });
  state.hidden = true;
  const run = await trigger(automation);
  await eventually(async () => expect(await records.runs.get(run.id)).toMatchObject({ status: 'waiting' }));
  expect(received.some(({ body }) => body.includes('restored'))).toBe(false);
  // The limit of its time does not pass meanwhile.
  state.ahead += 3_600_000;
  state.hidden = false;
  await stage.stage.own.bus.publish([
    createEvent({ service: 'tenancy', type: 'org.restored', subject: stage.orgId, tenant: stage.orgId, data: {} }),
  ]);
  await nudge(run.id);
  const ended = await until(owner, run, 'completed');
  expect(ended.steps.map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(received.filter(({ body }) => body.includes('restored'))).toHaveLength(1);
  expect(await records.lanes.get(automation.id)).toMatchObject({ failureCount: 0 });
  state.ahead = 0;
}, 60_000);

test.each([
  ['an action', 'createResource'],
  ['the data of its trigger', 'getResource'],
])('a run waits as well if the deletion of its Org is scheduled during a call: of %s', async (_, failing) => {
  const { create, trigger, state, faults, owner, until, records, rows } = stage;
  const [table, rowId] = [newId(), newId()];
  rows.set(table, {}).set(rowId, { c1: failing });
  const automation = await create([note('Hidden {{trigger.row.cells.Status}}')]);
  faults.answered = (method) => {
    if (method !== failing) return;
    faults.answered = () => {};
    state.hidden = true;
    throw NotFound();
  };
  const event = { type: 'row.created', data: { resource_id: table, row_id: rowId } };
  const run = await trigger(automation, { input: { event } });
  await eventually(async () => expect(await records.runs.get(run.id)).toMatchObject({ status: 'waiting' }));
  state.hidden = false;
  state.ahead += 61_000;
  await nudge(run.id);
  const ended = await until(owner, run, 'completed');
  expect(ended.steps.map(({ attempt }) => attempt)).toEqual([1]);
  expect(madeBy(`Hidden ${failing}`)).toHaveLength(1);
  expect(await records.lanes.get(automation.id)).toMatchObject({ failureCount: 0 });
  state.ahead = 0;
});

test('a run for whoever triggers it has the rights that they have in common with its author', async () => {
  const { create, start, until, owner, person, effects, agentRuns } = stage;
  const [author, asker] = [person('Author'), person('Asker')];
  const { userId, userName, credential } = author;
  const scopes = ['resource:write', 'agent_run:write', 'tag:write'];
  const actsAs = { userId, userName, credentialId: credential.id, scopes };
  const actions = [note('lent'), { type: 'run_agent', config: { agent_id: newId(), input: 'Go.' } } as const];
  const automation = await create(actions, { actsAs, runAs: 'triggering_user' });
  const by = { ...asker, credential: { ...asker.credential, scopes: ['resource:write', 'agent_run:write'] } };
  const run = await until(owner, await start(by, automation.id), 'waiting');
  const common = ['resource:write', 'agent_run:write'];
  const made = effects.find(({ of }) => of === 'lent')?.caller;
  expect(made).toMatchObject({ userId: asker.userId, authorId: author.userId, credential: { scopes: common } });
  const agentRun = agentRuns.get(run.steps[1]?.agentRunId ?? '');
  expect(agentRun).toMatchObject({ userId: asker.userId, authorId: author.userId, scopes: common });
  // The author's own run is limited by nobody else.
  const own = await create([note('own')], { actsAs, runAs: 'triggering_user' });
  await until(owner, await start(author, own.id), 'completed');
  expect(effects.find(({ of }) => of === 'own')?.caller.authorId).toBeUndefined();
  const left = { ...actsAs, userId: newId() };
  const late = await start(asker, (await create([note('late')], { actsAs: left, runAs: 'triggering_user' })).id);
  const failed = await until(owner, late, 'failed');
  expect(failed.error).toMatchObject({ code: 'permission_lost' });
});

test('a run ends if its person loses access, and if the workspace is archived', async () => {
  const { create, trigger, person, members, state } = stage;
  const leaver = person('Leaver');
  const { userId, userName, credential } = leaver;
  const actsAs = { userId, userName, credentialId: credential.id, scopes: SCOPES };
  const automation = await create([note('never made')], { actsAs });
  members.delete(userId);
  const run = await trigger(automation);
  const failed = await stage.until(stage.owner, run, 'failed');
  expect(failed.error).toMatchObject({ code: 'permission_lost' });
  const other = await create([note('never made')]);
  state.archived = true;
  const late = await eventually(async () => {
    const started = await trigger(other, { id: newId() });
    const found = await eventually(async () => {
      const one = await stage.records.runs.get(started.id);
      expect(['failed', 'completed']).toContain(one?.status);
      return one;
    }, 10_000);
    expect(found?.error?.code).toBe('workspace_archived');
    return found;
  }, 20_000);
  state.archived = false;
  expect(late?.status).toBe('failed');
  // Memberships are cached for a moment.
  await eventually(async () => {
    const open = await create([note('made again')]);
    const started = await trigger(open, { id: newId() });
    expect((await stage.until(stage.owner, started, 'completed', 'failed')).error).toBeUndefined();
  }, 20_000);
});

test('the target of a trigger is read when the run starts; a missing one skips the run', async () => {
  const { owner, create, trigger, until, rows } = stage;
  const [table, rowId] = [newId(), newId()];
  rows.set(table, {}).set(rowId, { c1: 'Open' });
  const automation = await create([note('Row of {{trigger.row.cells.Status}}')]);
  const event = (id: string) => ({ event: { type: 'row.created', data: { resource_id: table, row_id: id } } });
  await until(owner, await trigger(automation, { input: event(rowId) }), 'completed');
  expect(madeBy('Row of Open')).toHaveLength(1);
  const gone = await until(owner, await trigger(automation, { input: event(newId()) }), 'skipped');
  expect(gone.skipReason).toBe('target_gone');
});

test('a run at the end of a chain of five is a loop', async () => {
  const { owner, create, start } = stage;
  const automation = await create([note('by an agent')], { concurrency: 'allow' });
  const after = async (...chain: string[]) => (await start({ ...owner, chain }, automation.id)).skipReason;
  expect(await after(...Array.from({ length: 4 }, newId))).toBeUndefined();
  expect(await after(...Array.from({ length: 5 }, newId))).toBe('loop');
  expect(await after(newId(), automation.id)).toBe('loop');
});

test('an automation that fails too often in a row is switched off, and its people are notified', async () => {
  const { owner, create, trigger, until, events, records } = stage;
  const automation = await create([{ type: 'stop', config: { status: 'failed', message: 'No good.' } }]);
  const runs = [];
  for (let n = 0; n < 4; n++) runs.push(await trigger(automation));
  for (const run of runs.slice(0, 3)) {
    expect((await until(owner, run, 'failed')).error).toMatchObject({ code: 'stopped', message: 'No good.' });
  }
  expect((await until(owner, runs[3] as never, 'skipped')).skipReason).toBe('inactive');
  expect(await records.automations.get(automation.id)).toMatchObject({
    isActive: false,
    disabledAt: expect.any(String),
  });
  const finished = await eventually(async () => {
    const found = events.filter(({ type, data }) => type.endsWith('run.failed') && data.automationId === automation.id);
    expect(found).toHaveLength(3);
    return found;
  }, 10_000);
  expect(finished.map(({ data }) => [data.disabled, (data.notifyUserIds as string[]).length])).toEqual([
    [false, 1],
    [false, 0],
    [true, 1],
  ]);
  expect(finished[0]?.chain).toEqual([automation.id]);
  await expect(stage.start(owner, automation.id)).rejects.toMatchObject({ reason: 'automation_inactive' });
});

test('data that a run has read is shown to the person whose rights it had, and to administrators', async () => {
  const { owner, person, create, start, until, run } = stage;
  const [viewer, admin, editor] = [person('Viewer', 'viewer'), person('Admin', 'admin'), person('Editor')];
  const automation = await create([note('secret of the owner')]);
  const made = await until(owner, await start(editor, automation.id, input({ mine: 1 })), 'completed');
  const shown = async (caller: typeof owner) => {
    const { input: given, steps } = await run(caller, made);
    return [given.length > 0, (steps[0]?.input.length ?? 0) > 0, (steps[0]?.output.length ?? 0) > 0];
  };
  expect(await shown(owner)).toEqual([true, true, true]);
  expect(await shown(admin)).toEqual([true, true, true]);
  expect(await shown(editor)).toEqual([true, false, false]);
  expect(await shown(viewer)).toEqual([false, false, false]);
  await expect(start(viewer, automation.id)).rejects.toMatchObject({ reason: 'insufficient_role' });
  const stranger = { ...viewer, userId: newId() };
  await expect(run(stranger, made)).rejects.toBeInstanceOf(AppError);
  const other = await create([note('x')]);
  await expect(run(owner, { ...made, automationId: other.id })).rejects.toMatchObject({ reason: 'not_found' });
});

test('an administrator sees the data of a run that a message has triggered if they may see the message', async () => {
  const { owner, person, create, trigger, until, run, readers } = stage;
  const [outside, late, inside] = [person('Outside', 'admin'), person('Late', 'admin'), person('Inside', 'admin')];
  readers.set(late.userId, 9).set(inside.userId, 8);
  const automation = await create([note('{{trigger.message.text}}')]);
  const event = { type: 'message.created', data: { conversation_id: newId(), seq: 8 } };
  const made = await until(owner, await trigger(automation, { input: { event } }), 'completed');
  const mentions = async (caller: typeof owner) => {
    const { input: given, steps } = await run(caller, made);
    return [given, steps[0]?.input].map((bytes) => bytes?.includes('private words'));
  };
  expect(await mentions(owner)).toEqual([true, true]);
  expect(await mentions(inside)).toEqual([true, true]);
  expect(await mentions(late)).toEqual([false, false]);
  expect(await mentions(outside)).toEqual([false, false]);
});

test('messages of errors show no data to people who may not see it', async () => {
  const { owner, person, create, start, until, run } = stage;
  const viewer = person('Viewer', 'viewer');
  answers = [{ status: 400, body: 'echo of secret words' }];
  const automation = await create([
    { type: 'http_request', onError: 'continue', config: { url, body: '{{trigger.input.text}}' } },
    { type: 'send_message', onError: 'continue', config: { conversation_id: '{{trigger.input.text}}', text: 'x' } },
    { type: 'comment', onError: 'continue', config: { resource_id: '{{trigger.missing}}', body: 'x' } },
    { type: 'stop', config: { status: 'failed', message: '{{trigger.input.text}}' } },
  ]);
  const made = await until(owner, await start(owner, automation.id, input({ text: 'secret words' })), 'failed');
  const messages = async (caller: typeof owner) => {
    const { error, steps } = await run(caller, made);
    return [...steps.slice(0, 3).map((step) => step.error), error].map((one) => one?.message);
  };
  expect(await messages(owner)).toEqual([
    'The request was answered with 400: echo of secret words',
    expect.stringContaining('config.conversation_id'),
    expect.stringContaining('{{trigger.missing}}'),
    'secret words',
  ]);
  expect(await messages(viewer)).toEqual([
    'The request was answered with 400.',
    'The reason is shown to people who may see the data of the run.',
    expect.stringContaining('{{trigger.missing}}'),
    'The automation was stopped by an action.',
  ]);
  const { items } = await stage.client.listAutomationRuns(
    ListAutomationRunsRequest.fromPartial({ automationId: automation.id }),
    await stage.stage.as(viewer),
  );
  expect(JSON.stringify(items)).not.toContain('secret words');
  // Failures that an earlier version has stored.
  const stored = await stage.records.runs.get(made.id);
  await inWork(stage.stage.own.store, async (work) => {
    if (stored !== undefined) {
      work.replace(stage.records.runs, stored, {
        ...stored,
        error: { code: 'stopped', message: 'secret words', retryable: false },
      });
    }
  });
  expect((await messages(viewer)).at(-1)).toBe('The reason is shown to people who may see the data of the run.');
});

test('the input of a run has a maximum size, and a list of large runs has several pages', async () => {
  const { owner, person, create, start, trigger, client, records, state } = stage;
  const viewer = person('Viewer', 'viewer');
  const automation = await create([note('never')], {}, false);
  const text = 'x'.repeat(300_000);
  const refused = start(owner, automation.id, { ...input({ text }), dryRun: true });
  await expect(refused).rejects.toMatchObject({ reason: 'invalid_value', param: 'input' });
  await trigger(automation);
  for (let n = 0; n < 9; n++) {
    state.ahead++;
    await trigger(automation, { skipReason: 'loop', input: { webhook: { body: text.repeat(n === 4 ? 20 : 4) } } });
  }
  state.ahead = 0;
  for (const caller of [owner, viewer]) {
    const pages: number[] = [];
    const ids: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page = { limit: 200, offset: 0, cursor };
      const request = ListAutomationRunsRequest.fromPartial({ automationId: automation.id, page });
      const found = await client.listAutomationRuns(request, await stage.stage.as(caller));
      expect(found.page?.hasMore).toBe(found.page?.nextCursor !== undefined);
      expect(found.page?.total).toBe(10);
      if (cursor === '') expect(found.page?.nextOffset).toBe(found.items.length);
      pages.push(found.items.length);
      ids.push(...found.items.map(({ id }) => id));
      cursor = found.page?.nextCursor;
    }
    expect(pages).toEqual([3, 1, 1, 3, 2]);
    const all = await records.runs.find({ where: { automationId: automation.id }, sort: ['-createdAt'], limit: 20 });
    expect(ids).toEqual(all.map(({ id }) => id));
  }
});
