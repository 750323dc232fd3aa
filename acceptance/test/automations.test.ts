import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { List, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import { ROOT, type System } from '../src/system.js';

interface Automation {
  readonly id: string;
  readonly name: string;
  readonly is_active: boolean;
  readonly status: string;
  readonly webhook_url?: string | null;
  readonly trigger: { readonly type: string; readonly config: Readonly<Record<string, unknown>> | null };
  readonly conditions: readonly Readonly<Record<string, unknown>>[];
  readonly actions: readonly { readonly id: string; readonly type: string; readonly on_error: string }[];
  readonly secrets: readonly { readonly name: string; readonly allowed_hosts: readonly string[] }[];
  readonly acts_as: { readonly id: string };
  readonly version: number;
}

interface Run {
  readonly id: string;
  readonly status: string;
  readonly trigger: { readonly type: string; readonly event_id: string | null };
  readonly automation_version: number;
  readonly input: Readonly<Record<string, unknown>> | null;
}

let system: System;
let ada: Person;
let bob: Person;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  ada = await signUp(system, 'Ada');
  bob = await signUp(system, 'Bob');
  workspace = (await ada.post<Workspace>('/workspaces', { name: 'Automated' })).data;
  await ada.post(`/workspaces/${workspace.id}/members`, { user_id: bob.user.id, role: 'admin' });
}, 90_000);

const STOP = { id: 'end', type: 'stop' };
const create = (by: Api, more: object = {}) =>
  by.post<Automation>('/automations', {
    ...{ name: 'Automation', workspace_id: workspace.id, trigger: { type: 'manual' }, actions: [STOP] },
    ...more,
  });
const pathOf = ({ id }: { id: string }) => `/automations/${id}`;

describe('an automation', () => {
  test('is created, read, changed and deleted', async () => {
    const made = await create(ada, {
      description: 'Welcomes people',
      conditions: [
        { path: 'trigger.input.kind', op: 'in', value: ['a', 'b'] },
        { any: [{ path: 'trigger.x', op: 'exists' }] },
      ],
      actions: [
        { type: 'search', config: { query: '{{trigger.input.q | default: "x"}}' }, on_error: 'goto:end' },
        STOP,
      ],
      secrets: [{ name: 'KEY', value: 'a-very-secret-value', allowed_hosts: ['api.example.com'] }],
    });
    expect(made.status).toBe(201);
    const { id } = made.data;
    const read = await bob.get<Automation>(pathOf({ id }));
    expect(read.data).toMatchObject({
      ...{ is_active: true, status: 'ok', run_as: 'creator', concurrency: 'queue', timeout_seconds: 600, version: 1 },
      ...{ retry: { max_attempts: 2, backoff_seconds: 30 }, failure_count: 0, last_run: null },
      conditions: [
        { path: 'trigger.input.kind', op: 'in', value: ['a', 'b'] },
        { any: [{ path: 'trigger.x', op: 'exists' }] },
      ],
      actions: [
        { id: 'search', type: 'search', on_error: 'goto:end' },
        { id: 'end', type: 'stop', on_error: 'stop' },
      ],
      secrets: [{ name: 'KEY', allowed_hosts: ['api.example.com'] }],
      acts_as: { type: 'user', id: ada.user.id, name: 'Ada' },
    });
    expect(made.text + read.text).not.toContain('very-secret');
    const etag = read.headers.get('etag') ?? '';
    const changed = await bob.patch<Automation>(
      pathOf({ id }),
      { name: 'Renamed', is_active: false },
      { headers: { 'If-Match': etag } },
    );
    expect([changed.status, changed.data.name, changed.data.is_active, changed.data.acts_as.id]).toEqual([
      200,
      'Renamed',
      false,
      ada.user.id,
    ]);
    const late = await ada.patch(pathOf({ id }), { name: 'Late' }, { headers: { 'If-Match': etag } });
    expect([late.status, late.error.code]).toEqual([409, 'version_conflict']);
    const inactive = await ada.post(`${pathOf({ id })}/run`, {});
    expect([inactive.status, inactive.error.code]).toEqual([409, 'automation_inactive']);
    const listed = await ada.get<List<Automation>>(`/automations?workspace_id=${workspace.id}&is_active=false&q=RENAM`);
    expect(listed.data.items.map((one) => one.id)).toEqual([id]);
    expect((await ada.del(pathOf({ id }))).data).toEqual({ id, deleted: true });
    expect((await ada.get(pathOf({ id }))).status).toBe(404);
    expect((await ada.del(pathOf({ id }))).status).toBe(404);
  });

  test('takes back the trigger that it returns, and one without any config', async () => {
    const config = { types: ['resource.created'], resource_type: 'document' };
    const { data: made } = await create(ada, { trigger: { type: 'event', config } });
    const { data: read } = await ada.get<Automation>(pathOf(made));
    expect((await ada.patch<Automation>(pathOf(made), { trigger: read.trigger })).data.trigger).toEqual(read.trigger);
    const manual = await ada.patch<Automation>(pathOf(made), { trigger: { type: 'manual', config: {} } });
    expect([manual.status, manual.data.trigger.type]).toEqual([200, 'manual']);
  });

  test('is refused as a whole, with the path of each error', async () => {
    const wrong = await create(ada, {
      actions: [
        { id: 'a', type: 'http_request', config: { url: 'http://127.0.0.1/', headers: { Host: 'x' } } },
        { id: 'b', type: 'comment', config: { resource_id: '{{steps.c.output.id}}', boby: 'x' }, on_error: 'goto:a' },
        { id: 'c', type: 'stop', config: { message: '{{secrets.KEY}}' } },
      ],
    });
    expect([wrong.status, wrong.error.code]).toEqual([400, 'validation_failed']);
    const faults = (wrong.error.details as unknown as { param: string; code: string }[]).map(({ param, code }) => [
      param,
      code,
    ]);
    expect(Object.fromEntries(faults)).toEqual({
      'actions[0].config.headers.Host': 'invalid_value',
      'actions[0].config.url': 'url_not_allowed',
      'actions[1].config.boby': 'unknown_field',
      'actions[1].config.body': 'missing_field',
      'actions[1].config.resource_id': 'invalid_template',
      'actions[1].on_error': 'invalid_value',
      'actions[2].config.message': 'invalid_template',
    });
    const { data: made } = await create(ada);
    const half = await ada.patch(pathOf(made), { name: 'New', actions: [{ type: 'comment' }] });
    expect(half.status).toBe(400);
    expect((await ada.get<Automation>(pathOf(made))).data).toMatchObject({ name: 'Automation', version: 1 });
    expect((await ada.patch(pathOf(made), {})).error.code).toBe('no_update_field');
  });

  test('has the same limits when it is changed as when it is created', async () => {
    const { data: made } = await create(ada);
    const faultOf = async (fields: object) => {
      const { status, error } = await ada.patch(pathOf(made), fields);
      return [status, error.code, error.param];
    };
    const exists = { path: 'trigger.input.x', op: 'exists' };
    const secret = { value: 'x', allowed_hosts: ['api.example.com'] };
    const secrets = Array.from({ length: 21 }, (_, n) => ({ name: `S${n}`, ...secret }));
    const actions = Array(21).fill({ type: 'stop' });
    expect(await faultOf({ actions })).toEqual([400, 'too_many_items', 'actions']);
    expect(await faultOf({ actions: [] })).toEqual([400, 'invalid_value', 'actions']);
    expect(await faultOf({ conditions: Array(11).fill(exists) })).toEqual([400, 'too_many_items', 'conditions']);
    expect(await faultOf({ secrets })).toEqual([400, 'too_many_items', 'secrets']);
    expect((await ada.get<Automation>(pathOf(made))).data).toMatchObject({ version: 1, conditions: [] });
  });

  test('needs the scopes of its actions, and uses only the rights and secrets of its owner', async () => {
    const { key } = await newKey(ada, ['automation:read', 'automation:write'], { workspace_ids: [workspace.id] });
    const poor = api(system, key);
    expect((await create(poor)).status).toBe(201);
    const send = { type: 'add_tag', config: { resource_id: '{{trigger.input.id}}', name: 'New' } };
    const refused = await create(poor, { actions: [send] });
    expect([refused.status, refused.error.code, refused.error.details]).toEqual([
      403,
      'insufficient_scope',
      { scope: 'tag:write' },
    ]);
    const call = (body: string) => ({
      id: 'call',
      type: 'http_request',
      config: { url: 'https://api.example.com/', body },
    });
    const secrets = [{ name: 'KEY', value: 'a-very-secret-value', allowed_hosts: ['api.example.com'] }];
    const { data: made } = await create(ada, { actions: [call('{{secrets.KEY}}')], secrets });
    const stolen = await bob.patch(pathOf(made), { actions: [call('x {{secrets.KEY}}')] });
    expect([stolen.status, stolen.error.code]).toEqual([409, 'secret_reentry_required']);
    const entered = await bob.patch<Automation>(pathOf(made), { actions: [call('x {{secrets.KEY}}')], secrets });
    expect([entered.status, entered.data.acts_as.id]).toEqual([200, bob.user.id]);
  });
});

test('the examples of the guide can be created', async () => {
  const guide = readFileSync(join(ROOT, 'docs', 'automations.md'), 'utf8');
  const examples = [...guide.matchAll(/```json\n([^`]+)```/g)].map(([, json = '']) => json);
  const whole = examples.filter((json) => json.includes('"trigger"'));
  expect(whole).toHaveLength(3);
  const columns = ['name', 'stage', 'amount'].map((column) => ({ id: column, name: column, type: 'text' }));
  const table = { type: 'table', name: 'Deals', workspace_id: workspace.id, columns, rows: [] };
  const { id } = (await ada.post<{ id: string }>('/resources', table)).data;
  for (const json of whole) {
    const filled = json
      .replaceAll('"workspace_id": "…"', `"workspace_id": "${workspace.id}"`)
      .replaceAll('"table_id": "…"', `"table_id": "${id}"`)
      .replaceAll(/"(secret|value)": "…"/g, '"$1": "a secret value"')
      .replaceAll('…', randomUUID());
    const made = await ada.post('/automations', JSON.parse(filled));
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  }
});

describe('a webhook', () => {
  const SECRET = 'a secret of the sender';
  const hookOf = async (verify?: object): Promise<{ made: Automation; path: string }> => {
    const { data: made } = await create(ada, { trigger: { type: 'webhook', ...(verify && { config: { verify } }) } });
    return { made, path: (made.webhook_url ?? '').slice(system.baseUrl.length) };
  };
  const open = () => api(system);
  const runsOf = async (made: Automation) => (await ada.get<List<Run>>(`${pathOf(made)}/runs`)).data.items;

  test('starts one run for each delivery, by JSON or a form, without a credential', async () => {
    const { made, path } = await hookOf();
    expect(path).toMatch(/^\/api\/v1\/hooks\/automations\/[\w-]{43}$/);
    const headers = { 'webhook-id': 'msg_1' };
    const first = await open().post<{ run_id: string }>(path, { name: 'Ada' }, { headers });
    expect(first.status).toBe(202);
    const again = await open().post(path, { name: 'Ada' }, { headers });
    expect([again.status, again.data]).toEqual([202, first.data]);
    const form = { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
    expect((await open().send('POST', path, 'name=Cleo&n=2', form)).status).toBe(202);
    const runs = await runsOf(made);
    expect(runs).toHaveLength(2);
    expect(runs.find(({ id }) => id === first.data.run_id)).toMatchObject({
      trigger: { type: 'webhook', event_id: 'msg_1' },
      automation_version: 1,
    });
  });

  test.each([['[{"id":1},{"id":2}]'], ['"text"'], ['12.5'], ['false'], ['null']])(
    'may have the body %s: any JSON value',
    async (body) => {
      const { made, path } = await hookOf();
      const answer = await open().send('POST', path, body);
      expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
      const [run] = await runsOf(made);
      expect(run?.input).toMatchObject({ webhook: { body: JSON.parse(body) } });
      const broken = await open().send('POST', path, `${body},`);
      expect([broken.status, broken.error.code]).toEqual([400, 'invalid_json']);
    },
  );

  test('has a URL that only people who may change the automation see, and that can be revoked at once', async () => {
    const { made, path } = await hookOf();
    const viewer = await signUp(system, 'Viewer');
    await ada.post(`/workspaces/${workspace.id}/members`, { user_id: viewer.user.id, role: 'viewer' });
    expect((await viewer.get<Automation>(pathOf(made))).data.webhook_url ?? null).toBeNull();
    expect((await bob.get<Automation>(pathOf(made))).data.webhook_url).toBe(system.baseUrl + path);
    const options = { headers: { 'Idempotency-Key': 'rotate-1' } };
    const rotated = await ada.patch<Automation>(pathOf(made), { rotate_webhook_token: true }, options);
    expect(rotated.data.webhook_url).not.toBe(made.webhook_url);
    const replayed = await ada.patch<Automation>(pathOf(made), { rotate_webhook_token: true }, options);
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect(replayed.text).not.toContain('hooks/automations/');
    expect((await open().post(path, {})).status).toBe(404);
    const now = (rotated.data.webhook_url ?? '').slice(system.baseUrl.length);
    expect((await open().post(now, {})).status).toBe(202);
    await ada.patch(pathOf(made), { is_active: false });
    const off = await open().post(now, {});
    expect([off.status, off.error.code]).toEqual([409, 'automation_inactive']);
    await ada.del(pathOf(made));
    expect((await open().post(now, {})).status).toBe(404);
  });

  test('must be signed if its automation requires it', async () => {
    const body = '{"action":  "opened"}';
    const hmac = (encoding: 'hex' | 'base64', text = body) =>
      createHmac('sha256', SECRET).update(text).digest(encoding);
    const send = (path: string, headers: Record<string, string>, text = body) =>
      open().send('POST', path, text, { headers });
    const refused = async (path: string, headers: Record<string, string>) => {
      const answer = await send(path, headers);
      expect([answer.status, answer.error.code]).toEqual([401, 'invalid_signature']);
    };
    const github = await hookOf({ type: 'github', secret: SECRET });
    expect(JSON.stringify(github.made)).not.toContain(SECRET);
    expect((await send(github.path, { 'X-Hub-Signature-256': `sha256=${hmac('hex')}` })).status).toBe(202);
    await refused(github.path, { 'X-Hub-Signature-256': `sha256=${hmac('hex', '{}')}` });
    await refused(github.path, {});
    const plain = await hookOf({ type: 'hmac_sha256', header: 'X-Sig', secret: SECRET });
    expect((await send(plain.path, { 'x-sig': hmac('base64') })).status).toBe(202);
    await refused(plain.path, { 'x-sig': hmac('base64', '{}') });
    const key = Buffer.alloc(32, 9);
    const standard = await hookOf({ type: 'standard_webhooks', secret: `whsec_${key.toString('base64')}` });
    const signed = (at: number, id: string) => ({
      ...{ 'webhook-id': id, 'webhook-timestamp': String(at) },
      'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`,
    });
    const now = Math.floor(Date.now() / 1000);
    expect((await send(standard.path, signed(now, 'm1'))).status).toBe(202);
    await refused(standard.path, signed(now - 3600, 'm2'));
    await refused(standard.path, { ...signed(now, 'm3'), 'webhook-id': 'm4' });
    expect(await runsOf(standard.made)).toHaveLength(1);
  });
});
