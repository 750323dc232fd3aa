import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOptions } from '@commonplace/kit/rpc';
import { Content } from '@commonplace/proto/resources/v1/content_service.js';
import { Resource } from '@commonplace/proto/resources/v1/resource.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { isBatchable } from '../src/batch/gate.js';
import type { Invoke } from '../src/endpoint.js';
import type { FairShares } from '../src/fair-shares/index.js';
import { createRoutes } from '../src/routes.js';
import { type AuthStage, openAuthStage, type StageOptions, signedIn } from './auth-stage.js';
import { ID } from './request-helpers.js';

const PUBLIC = 'http://127.0.0.1:8080';
const KEY = { Authorization: 'Bearer wsk_p_test' };
const RESOURCE = `/api/v1/resources/${ID}`;
const ME = { id: 'me', method: 'GET', path: '/api/v1/me' };

interface Answer {
  readonly id: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { data?: Record<string, unknown>; error?: { code: string; details: unknown }; request_id: string };
  readonly body_omitted?: string;
}
interface Called {
  readonly rpc: string;
  readonly request: Record<string, unknown>;
  readonly options: CallOptions;
}

let stage: AuthStage;
let usual: AuthStage;
let called: Called[];
/** What an rpc does instead of answering an empty record. */
let acts: Record<string, (options: CallOptions) => unknown>;

const invoke: StageOptions['invoke'] = (route) =>
  (async (request: Record<string, unknown>, options: CallOptions) => {
    called.push({ rpc: route.rpc, request, options });
    return (await acts[route.rpc]?.(options)) ?? (route.rpc === 'GetMe' ? { orgs: [] } : Resource.fromPartial({}));
  }) as unknown as Invoke;

/** Uses a gateway with other settings for the rest of a test. */
async function open(env: Record<string, string>): Promise<void> {
  stage = await openAuthStage(PUBLIC, 0, { env, invoke });
}

beforeAll(async () => {
  usual = await openAuthStage(PUBLIC, 0, { invoke, env: { COMMONPLACE_RATE_LIMITS: 'off' } });
}, 30_000);
afterAll(() => usual.close());
beforeEach(() => {
  called = [];
  acts = {};
  stage = usual;
  stage.logged.length = 0;
  stage.identity.calls.length = 0;
});
afterEach(async () => {
  if (stage !== usual) await stage.close();
});

async function send(requests: unknown, headers: Record<string, string> = KEY) {
  const answer = await stage.json('/api/v1/batch', { requests }, headers);
  const { data, error, request_id } = (await answer.json()) as {
    data?: { responses: Answer[] };
    error?: { code: string; param: string; details: { param: string; code: string }[] };
    request_id: string;
  };
  return { status: answer.status, responses: data?.responses ?? [], error, request_id, headers: answer.headers };
}
const rpcs = () => called.map(({ rpc }) => rpc);

describe('a batch', () => {
  test('makes its calls in order, and returns the answer of each with its own request id', async () => {
    const body = { name: 'Ärger' };
    const { status, responses, request_id } = await send([
      ME,
      { id: 'change', method: 'PATCH', path: `${RESOURCE}?`, body, headers: { 'if-match': '"v3"' } },
      { id: 'wrong', method: 'GET', path: '/api/v1/resources/nonsense' },
      { id: 'none', method: 'DELETE', path: '/api/v1/nonsense' },
    ]);
    expect([status, responses.map((one) => [one.id, one.status])]).toEqual([
      200,
      [
        ['me', 200],
        ['change', 200],
        ['wrong', 400],
        ['none', 404],
      ],
    ]);
    expect(rpcs()).toEqual(['GetMe', 'UpdateResource']);
    expect(called[1]?.request).toMatchObject({ resourceId: ID, name: 'Ärger' });
    expect(called[1]?.options.metadata.baseVersion).toBe(3);
    expect(responses[2]?.body.error?.code).toBe('invalid_id');
    const ids = responses.map(({ body: { request_id: id } }) => id);
    expect(ids).toEqual(responses.map(({ headers }) => headers['X-Request-Id']));
    expect(new Set([...ids, request_id]).size).toBe(5);
  });

  test('takes the credential, the CSRF token and the narrowing headers to each of its calls', async () => {
    const { cookie, csrf } = await signedIn(stage);
    const calls = [ME, { id: 'change', method: 'PATCH', path: RESOURCE, body: { name: 'A' } }];
    const session = { cookie, 'X-CSRF-Token': csrf, 'X-Tenant': 'personal', 'X-Workspace-Id': ID };
    expect((await send(calls, session)).responses.map((one) => one.status)).toEqual([200, 200]);
    const asked = stage.identity.calls.filter(({ rpc }) => rpc === 'authenticate').map(({ request }) => request);
    expect(asked[0]).toMatchObject({ tenant: 'personal', workspaceId: ID });
    expect(new Set(asked.map((one) => JSON.stringify(one))).size).toBe(1);
    expect((await send(calls, { cookie })).error?.code).toBe('csrf_failed');
    expect((await send(calls, {})).status).toBe(401);
  });

  test('has no call without those that it depends on', async () => {
    const { responses } = await send([
      { id: 'a', method: 'GET', path: '/api/v1/resources/nonsense' },
      { ...ME, id: 'b', depends_on: ['a'] },
      { ...ME, id: 'c', depends_on: ['b'] },
      { ...ME, id: 'd' },
      { ...ME, id: 'e', depends_on: ['d'] },
    ]);
    expect(responses.map((one) => [one.status, one.body.error?.code])).toEqual([
      [400, 'invalid_id'],
      [409, 'failed_dependency'],
      [409, 'failed_dependency'],
      [200, undefined],
      [200, undefined],
    ]);
    expect(responses[2]?.body.error?.details).toEqual({ id: 'b' });
    expect(rpcs()).toEqual(['GetMe', 'GetMe']);
  });

  test('gives each write a key of its own for its key, unless the call has one', async () => {
    const calls = [
      { id: 'a', method: 'PATCH', path: RESOURCE, body: { name: 'A' } },
      { id: 'b', method: 'PATCH', path: RESOURCE, body: { name: 'A' } },
      { id: 'own', method: 'PATCH', path: RESOURCE, body: { name: 'A' }, headers: { 'Idempotency-Key': 'mine' } },
      ME,
    ];
    await send(calls, { ...KEY, 'Idempotency-Key': 'x' });
    await send([...calls].reverse(), { ...KEY, 'Idempotency-Key': '"x"' });
    await send(calls, { ...KEY, 'Idempotency-Key': 'y' });
    const alone = {
      method: 'PATCH',
      headers: { ...KEY, 'Content-Type': 'application/json', 'Idempotency-Key': 'mine' },
    };
    await fetch(stage.baseUrl + RESOURCE, { ...alone, body: JSON.stringify({ name: 'A' }) });
    const keys = called
      .filter(({ rpc }) => rpc === 'UpdateResource')
      .map(({ options }) => options.metadata.idempotency?.id);
    const [a, b, own, ...again] = keys;
    expect(new Set([a, b, own]).size).toBe(3);
    expect(again.slice(0, 3)).toEqual([own, b, a]);
    expect([a, b]).not.toContain(again[3]);
    expect([again[5], again[6]]).toEqual([own, own]);
    expect((await send(calls, { ...KEY, 'Idempotency-Key': 'é' })).error?.param).toBe('Idempotency-Key');
  });

  test('makes the calls that begin in its time, and names those that did not begin', async () => {
    await open({ COMMONPLACE_REQUEST_TIMEOUT_MS: '2000' });
    const deadlines: number[] = [];
    // The second call lasts until the time is over.
    acts.GetMe = async ({ deadline = 0 }) => {
      deadlines.push(deadline);
      if (deadlines.length === 2) await sleep(deadline - Date.now() + 10);
    };
    const { status, responses } = await send(['a', 'b', 'c', 'd'].map((id) => ({ ...ME, id })));
    expect([status, responses.map((one) => one.status)]).toEqual([200, [200, 200, 503, 503]]);
    expect(responses[3]?.body.error).toMatchObject({ code: 'timeout', details: { begun: false } });
    expect(responses[3]?.headers['Retry-After']).toBe('1');
    // All calls share the time of the batch.
    expect(deadlines).toHaveLength(2);
    expect(new Set(deadlines).size).toBe(1);
  });

  test('begins no call after its client has left', async () => {
    const leaves = new AbortController();
    const began: string[] = [];
    acts.GetMe = async ({ isCancelled }) => {
      began.push(String(isCancelled));
      if (began.length === 2) leaves.abort();
      await sleep(50);
    };
    const body = JSON.stringify({ requests: ['a', 'b', 'c', 'd'].map((id) => ({ ...ME, id })) });
    const headers = { ...KEY, 'Content-Type': 'application/json' };
    const init = { method: 'POST', headers, body, signal: leaves.signal };
    await expect(fetch(`${stage.baseUrl}/api/v1/batch`, init)).rejects.toThrow();
    await sleep(200);
    expect(began).toHaveLength(2);
    expect(stage.logged).toEqual([]);
  });

  test('counts once as a request and in progress, and each call as it would alone', async () => {
    await open({ COMMONPLACE_RATE_LIMITS: 'default=6,write=2,concurrent=1' });
    const write = (id: string) => ({ id, method: 'PATCH', path: RESOURCE, body: { name: 'A' } });
    const first = await send([write('a'), write('b'), write('c'), { ...ME, id: 'd' }]);
    expect(first.responses.map((one) => one.status)).toEqual([200, 200, 429, 200]);
    expect(first.headers.get('ratelimit-policy')).toBe('"default";q=6;w=60');
    expect(first.responses[1]?.headers.RateLimit).toMatch(/^"default";r=3;t=\d+, "write";r=0;t=\d+$/);
    const second = await send([ME]);
    expect([second.status, second.responses[0]?.status]).toEqual([200, 429]);
    expect((await send([ME])).error?.code).toBe('rate_limited');
  });

  test('counts as unread what its calls have answered, until its client has it', async () => {
    await open({ COMMONPLACE_UNREAD_BYTES: '20000' });
    acts.GetContent = () => Content.fromPartial({ resourceId: ID, content: Buffer.from(`"${'x'.repeat(15_000)}"`) });
    const read = (id: string) => ({ id, method: 'GET', path: `${RESOURCE}/content` });
    const { responses } = await send([read('a'), read('b'), read('c')]);
    expect(responses.map((one) => one.status)).toEqual([200, 200, 429]);
    expect(responses[2]?.body.error).toMatchObject({ code: 'concurrency_limited', details: { policy: 'unread' } });
    expect((await send([read('a')])).responses[0]?.status).toBe(200);
  });

  test('keeps no place in its process while its calls run, each of which takes one', async () => {
    const turns: string[] = [];
    const fairShares: FairShares = {
      enter(tenant) {
        turns.push('enter');
        return { tenant, since: performance.now(), bytes: 0 };
      },
      leave: ({ bytes }) => void turns.push(bytes > 0 ? 'leave' : 'leave without bytes'),
      close: () => {},
    };
    stage = await openAuthStage(PUBLIC, 0, { invoke, fairShares });
    await send([ME, { ...ME, id: 'b' }]);
    expect(turns).toEqual(['enter', 'leave', 'enter', 'leave', 'enter', 'leave']);
  });

  test('leaves out answers that are too large, alone or together, and what they did stays', async () => {
    await open({ COMMONPLACE_BATCH_ANSWER_BYTES: '100000', COMMONPLACE_BATCH_ANSWERS_BYTES: '150000' });
    let size = 0;
    acts.GetContent = () => Content.fromPartial({ resourceId: ID, content: Buffer.from(`"${'€'.repeat(size / 3)}"`) });
    const read = { id: 'a', method: 'GET', path: `${RESOURCE}/content` };
    for (size of [99_000, 101_000, 5_000_000]) {
      const [answer] = (await send([read])).responses;
      const expected = size < 100_000 ? [200, '€'.repeat(size / 3), undefined] : [200, undefined, 'answer_limit'];
      expect([answer?.status, answer?.body?.data?.content, answer?.body_omitted]).toEqual(expected);
    }
    size = 90_000;
    const { responses } = await send([read, { ...read, id: 'b' }, { ...ME, id: 'c' }, { ...read, id: 'd' }]);
    expect(responses.map((one) => [one.status, one.body === null, one.body_omitted])).toEqual([
      [200, false, undefined],
      [200, true, 'batch_limit'],
      [200, false, undefined],
      [200, true, 'batch_limit'],
    ]);
  });

  test('cannot contain batches, hooks and what is outside of the contract, whatever their spelling', async () => {
    const paths = ['batch', 'batch/', 'hooks/forms/abcdefghijklmnopqrst', 'hooks/automations/a', 'openapi.json'];
    const calls = paths.map((path) => ({ id: path, method: 'POST', path: `/api/v1/${path}`, body: {} }));
    const get = { id: 'get', method: 'GET', path: '/api/v1/openapi.json?a' };
    const { responses } = await send([...calls, get]);
    expect(responses.map((one) => [one.id, one.status, one.body.error?.code])).toEqual(
      [...paths, 'get'].map((id) => [id, 400, 'not_in_batch']),
    );
    const encoded = { id: 'x', method: 'POST', path: '/api/v1/%62atch', body: { requests: [ME] } };
    expect((await send([encoded])).responses[0]?.body.error?.code).toBe('route_not_found');
    expect(called).toEqual([]);
    const alone = createRoutes().filter((route) => !isBatchable(route));
    expect(alone.map(({ path }) => path).sort()).toEqual([
      '/api/v1/batch',
      '/api/v1/hooks/automations/{token}',
      '/api/v1/hooks/forms/{webhook_token}',
    ]);
  });

  test('logs nothing and breaks nothing when a call fails on the side of the server', async () => {
    acts.GetMe = () => {
      throw new Error('broken');
    };
    const { status, responses } = await send([ME, { id: 'b', method: 'PATCH', path: RESOURCE, body: { name: 'A' } }]);
    expect([status, responses.map((one) => one.status)]).toEqual([200, [500, 200]]);
    expect(stage.logged).toEqual(['request.failed']);
  });
});

describe('faults of a batch', () => {
  const faultsOf = async (call: object, headers = KEY) => {
    const { status, error } = await send([{ ...ME, ...call }], headers);
    expect([status, called]).toEqual([400, []]);
    return error?.details.map(({ param, code }) => `${param} ${code}`);
  };

  test.each([
    ...['/api/v1/../health/live', '/api/v1/a/..', '/api/v1/./me', '/api/v1/%2e%2E/me', '/api/v1/.%2e/me'],
    ...['http://example.com/api/v1/me', '//example.com/api/v1/me', 'me', '/api/v1', '/auth/sign-in', '/mcp', '*'],
    ...['/api/v1/me#a', '/api/v1/a b', '/api/v1/é', '/api/v1\\me', '/api/v1/\\..\\me', '/api/v1/me\r\nHost: a'],
  ])('the path %j is none', async (path) => {
    expect(await faultsOf({ path })).toEqual(['requests[0].path invalid_value']);
  });

  test('encoded slashes, and dots in a query, are what they are alone', async () => {
    const paths = ['/api/v1/resources/a%2Fb', '/api/v1/resources/..%2Fme', '/api/v1/me?a=/../b'];
    const { responses } = await send(paths.map((path, i) => ({ id: `${i}`, method: 'GET', path })));
    const alone = await Promise.all(paths.map(async (path) => (await stage.get(path, KEY)).status));
    expect(responses.map((one) => one.status)).toEqual(alone);
    expect(alone).toEqual([400, 400, 200]);
  });

  test.each([
    ...['Host', 'Authorization', 'Cookie', 'Content-Length', 'Transfer-Encoding', 'X-Forwarded-For', 'X-CSRF-Token'],
    ...['Origin', 'Connection', 'Upgrade', 'Expect', 'traceparent', 'X-Api-Key', 'Last-Event-ID', 'X-Real-IP', ''],
  ])('the header %s belongs to the batch', async (name) => {
    expect(await faultsOf({ headers: { [name]: '1' } })).toEqual([`requests[0].headers.${name} invalid_value`]);
  });

  test.each([
    ['If-Match', 'a\r\nHost: b'],
    ['If-Match', 'é€'],
    ['Accept', 'application/json, Text/Event-Stream'],
    ['Content-Type', 'multipart/form-data; boundary=a'],
  ])('the header %s cannot be %j', async (name, value) => {
    expect(await faultsOf({ headers: { [name]: value } })).toEqual([`requests[0].headers.${name} invalid_value`]);
  });

  test('a call is in the tenant and the workspace of the batch', async () => {
    const narrowed = { ...KEY, 'X-Workspace-Id': ID };
    expect(await faultsOf({ headers: { 'x-workspace-id': 'b' } }, narrowed)).toHaveLength(1);
    const same = await send([{ ...ME, headers: { 'X-Workspace-Id': ID, 'X-Tenant': 'personal' } }], narrowed);
    expect(same.responses.map((one) => one.status)).toEqual([200]);
  });

  test('a call has one of each header, a known method, known fields and a body that it takes', async () => {
    expect(await faultsOf({ headers: { Accept: '*/*', ACCEPT: 'a' } })).toHaveLength(1);
    for (const method of ['TRACE', 'HEAD', 'OPTIONS', 'get', 'GET ', 'X']) {
      expect(await faultsOf({ method })).toEqual(['requests[0].method invalid_value']);
    }
    expect(await faultsOf({ body: {} })).toEqual(['requests[0].body invalid_value']);
    expect(await faultsOf({ url: '/' })).toEqual(['requests[0].url unknown_field']);
    expect(await faultsOf({ id: ' ' })).toEqual(['requests[0].id missing_field']);
  });

  test('calls have different ids, and depend on calls before them', async () => {
    const { error } = await send([
      { ...ME, id: 'a', depends_on: ['a', 'b'] },
      { ...ME, id: 'b', depends_on: ['a'] },
      { ...ME, id: 'a' },
    ]);
    expect(error?.details.map(({ param }) => param)).toEqual([
      'requests[0].depends_on[0]',
      'requests[0].depends_on[1]',
      'requests[2].id',
    ]);
  });

  test('there are 1 to 50 calls, or as many as the setting allows, in a body of limited size', async () => {
    const calls = (count: number) => Array.from({ length: count }, (_, i) => ({ ...ME, id: `${i}` }));
    expect((await send(calls(50))).responses).toHaveLength(50);
    expect((await send(calls(51))).error).toMatchObject({ code: 'too_many_items', param: 'requests' });
    expect((await send([])).error).toMatchObject({ code: 'invalid_value', param: 'requests' });
    expect((await send(undefined)).error).toMatchObject({ code: 'missing_field', param: 'requests' });
    await open({ COMMONPLACE_BATCH_CALLS: '2', COMMONPLACE_BATCH_BODY_BYTES: '2000' });
    expect((await send(calls(3))).error).toMatchObject({ code: 'too_many_items', param: 'requests' });
    const large = await send([{ id: 'a', method: 'PATCH', path: RESOURCE, body: { name: 'x'.repeat(2000) } }]);
    expect(large.error).toMatchObject({
      code: 'payload_too_large',
      details: { limit: 2000, setting: 'COMMONPLACE_BATCH_BODY_BYTES' },
    });
  });

  test('a body above 64 KiB is read in a thread, with the same result', async () => {
    const body = { name: 'a', description: '€\u2028'.repeat(500) };
    const calls = Array.from({ length: 40 }, (_, i) => ({ id: `${i}`, method: 'PATCH', path: RESOURCE, body }));
    const { responses } = await send(calls);
    expect(responses.map((one) => one.status)).toEqual(calls.map(() => 200));
    expect(called[39]?.request.description).toBe(body.description);
  }, 20_000);
});
