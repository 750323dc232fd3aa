import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ApiError,
  Commonplace,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  ServerError,
  StreamError,
  TimeoutError,
  UnauthenticatedError,
} from '../dist/index.js';
import { answer, cut, data, events, refuse, silence, slowly, startServer } from './scripted-server.mjs';

const quick = { retryDelayMs: 1, apiKey: 'wsk_test' };
const start = async (t, ...steps) => {
  const server = await startServer(t, ...steps);
  return { ...server, client: new Commonplace({ ...quick, baseUrl: server.baseUrl }) };
};
const keys = (requests) => requests.map(({ headers }) => headers['idempotency-key']);

test('a request has credential, path, query and body as the API has them', async (t) => {
  const { client, requests } = await start(t, data({ items: [] }, { page: { has_more: false } }), data({ id: 'a' }));
  await client.resources.list('a/b', { type: ['document', 'table'], recursive: false });
  await client.resources.update('ä', { name: 'New' }, { ifMatch: 12, headers: { 'X-Tenant': 'personal' } });
  assert.equal(requests[0].url, '/api/v1/workspaces/a%2Fb/resources?type=document%2Ctable&recursive=false');
  assert.equal(requests[0].headers.authorization, 'Bearer wsk_test');
  assert.deepEqual(
    [requests[1].method, requests[1].url, requests[1].body],
    ['PATCH', '/api/v1/resources/%C3%A4', '{"name":"New"}'],
  );
  assert.deepEqual([requests[1].headers['if-match'], requests[1].headers['x-tenant']], ['"v12"', 'personal']);
});

test('each status has its class, and the error all that the answer says', async (t) => {
  const classes = {
    400: InvalidRequestError,
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitError,
    500: ServerError,
    418: ApiError,
  };
  for (const [status, Class] of Object.entries(classes)) {
    const fault = { param: 'name', code: 'missing_field', message: 'It is missing.' };
    const { client } = await start(
      t,
      refuse(Number(status), 'some_code', { details: [fault] }, { 'Retry-After': '7' }),
    );
    const error = await client.account.getMe({}, { maxRetries: 0 }).catch((caught) => caught);
    assert.equal(error.constructor, Class);
    assert.equal(error.name, Class.name);
    assert.deepEqual([error.status, error.code, error.requestId], [Number(status), 'some_code', 'req_1']);
    assert.deepEqual([error.message, error.retryAfterSeconds, error.faults], ['It is some_code.', 7, [fault]]);
  }
});

test('an answer of a proxy that is no JSON is an error of its status', async (t) => {
  const { client } = await start(t, (_, response) => response.writeHead(502).end('<html>'));
  const error = await client.account.getMe({}, { maxRetries: 0 }).catch((caught) => caught);
  assert.deepEqual([error.constructor, error.code, error.retryable], [ServerError, 'http_502', true]);
});

test('a write is repeated with one key after a broken connection, 429, 503 and a first that still runs', async (t) => {
  const { client, requests } = await start(
    t,
    cut,
    refuse(429, 'rate_limited'),
    refuse(503, 'unavailable', { retryable: true }),
    refuse(409, 'idempotency_in_progress', {}, { 'Retry-After': '0' }),
    data({ id: 'made' }),
  );
  const made = await client.workspaces.create({ name: 'A' }, { maxRetries: 4 });
  assert.equal(made.id, 'made');
  assert.equal(requests.length, 5);
  assert.equal(new Set(keys(requests)).size, 1);
  assert.match(keys(requests)[0], /^[0-9a-f-]{36}$/);
});

test('every write has a key of its own, or that of the caller', async (t) => {
  const { client, requests } = await start(t, data({}), data({}), data({}));
  await client.workspaces.create({ name: 'A' });
  await client.workspaces.create({ name: 'A' });
  await client.workspaces.create({ name: 'A' }, { idempotencyKey: 'mine' });
  assert.equal(new Set(keys(requests)).size, 3);
  assert.equal(keys(requests)[2], 'mine');
});

test('what is wrong is not repeated, and neither is a write that the server takes no key for', async (t) => {
  const refused = await start(t, refuse(409, 'version_conflict'));
  await assert.rejects(refused.client.resources.update('a', { name: 'B' }), ConflictError);
  assert.equal(refused.requests.length, 1);
  const signIn = await start(t, cut);
  await assert.rejects(signIn.client.signIn.signIn({ email: 'a@example.com', password: 'b' }), ConnectionError);
  assert.deepEqual(keys(signIn.requests), [undefined]);
});

test('Retry-After is obeyed, and a longer one than the client waits is the error', async (t) => {
  const { client } = await start(t, refuse(429, 'rate_limited', {}, { 'Retry-After': '1' }), data({ id: 'a' }));
  const began = Date.now();
  await client.account.getMe();
  assert.ok(Date.now() - began >= 990);
  const long = await start(t, refuse(429, 'rate_limited', {}, { 'Retry-After': '3600' }));
  await assert.rejects(long.client.account.getMe(), RateLimitError);
});

test('retries end after as many as are allowed', async (t) => {
  const { client, requests } = await start(t, cut, cut, cut, cut);
  await assert.rejects(client.account.getMe({}, { maxRetries: 2 }), ConnectionError);
  assert.equal(requests.length, 3);
});

const page = (ids, next) =>
  data({ items: ids.map((id) => ({ id })) }, { page: { has_more: next !== null, next_cursor: next, total: 3 } });

test('a list is read to its end, page by page, and only as far as it is needed', async (t) => {
  const { client, requests } = await start(t, page(['a', 'b'], 'two'), page(['c'], null), page(['a', 'b'], 'two'));
  const found = [];
  for await (const { id } of client.workspaces.list({ limit: 2, offset: 0 })) found.push(id);
  assert.deepEqual(found, ['a', 'b', 'c']);
  assert.deepEqual(
    requests.map(({ url }) => url.split('?')[1]),
    ['limit=2&offset=0', 'limit=2&cursor=two'],
  );
  for await (const { id } of client.workspaces.list()) if (id === 'b') break;
  assert.equal(requests.length, 3);
});

test('a list whose cursor is in the body is read to its end, each page with its own key', async (t) => {
  const { client, requests } = await start(t, page(['a'], 'two'), page(['b'], null));
  const found = await client.search.query({ query: 'x' }, { idempotencyKey: 'mine' }).all();
  assert.deepEqual(
    found.map(({ id }) => id),
    ['a', 'b'],
  );
  assert.deepEqual(JSON.parse(requests[1].body), { query: 'x', cursor: 'two' });
  assert.notEqual(keys(requests)[1], 'mine');
});

test('an awaited list is its first page', async (t) => {
  const { client, requests } = await start(t, page(['a'], 'two'));
  const first = await client.workspaces.list();
  assert.deepEqual([first.items.length, first.page.total, requests.length], [1, 3, 1]);
});

test('a time-out is an error of its own, and the attempt is repeated', async (t) => {
  const { client, requests } = await start(t, silence, silence);
  await assert.rejects(client.account.getMe({}, { timeoutMs: 100, maxRetries: 1 }), TimeoutError);
  assert.equal(requests.length, 2);
});

test('an aborted request ends with the reason, while it waits for an answer and between attempts', async (t) => {
  const { client } = await start(t, silence);
  const answerless = new AbortController();
  setTimeout(() => answerless.abort(new Error('enough')), 50);
  await assert.rejects(client.account.getMe({}, { signal: answerless.signal }), /enough/);
  const later = await start(t, refuse(429, 'rate_limited', {}, { 'Retry-After': '20' }));
  const between = new AbortController();
  setTimeout(() => between.abort(new Error('enough')), 300);
  await assert.rejects(later.client.account.getMe({}, { signal: between.signal }), /enough/);
});

test('what stands around an answer is told', async (t) => {
  const { client } = await start(
    t,
    answer(
      201,
      { data: {}, request_id: 'req_9', warnings: [{ code: 'w', message: '' }] },
      { ETag: '"v1.x"', 'Idempotency-Replayed': 'true' },
    ),
  );
  const told = [];
  await client.workspaces.create({ name: 'A' }, { onResponse: (info) => told.push(info) });
  const [{ status, requestId, etag, replayed, warnings }] = told;
  assert.deepEqual([status, requestId, etag, replayed, warnings.length], [201, 'req_9', '"v1.x"', true, 1]);
});

const event = (id, name, value = '{}') => `id: ${id}\nevent: ${name}\ndata: ${value}\n\n`;

test('a stream that breaks or ends early continues behind its last event', async (t) => {
  const { client, requests } = await start(
    t,
    events(
      `retry: 10\n\n: ping\n\n${event(1, 'message.delta')}${event(2, 'message.delta', '{"a":\ndata: 1}')}id: 3\neve`,
      'breaks',
    ),
    events(event(3, 'message.delta')),
    events(event(4, 'error', '{"code":"unavailable","message":"Restarting."}')),
    events(event(5, 'run.completed') + event(6, 'message.delta')),
  );
  const seen = [];
  for await (const { id, event: name, data: value } of client.runs.stream('r')) seen.push([id, name, value]);
  assert.deepEqual(
    seen.map(([id]) => id),
    ['1', '2', '3', '5'],
  );
  assert.deepEqual(seen[1][2], { a: 1 });
  assert.deepEqual(
    requests.map(({ headers }) => headers['last-event-id']),
    [undefined, '2', '3', '4'],
  );
  assert.ok(requests.every(({ headers }) => headers.accept === 'text/event-stream'));
});

test('a stream that the server refuses or fails is an error', async (t) => {
  const refused = await start(t, refuse(404, 'not_found'));
  await assert.rejects(refused.client.runs.stream('r').next(), NotFoundError);
  const failed = await start(
    t,
    events(event(1, 'error', '{"code":"unauthenticated","message":"Expired.","request_id":"req_2"}')),
  );
  const error = await failed.client.runs
    .stream('r')
    .next()
    .catch((caught) => caught);
  assert.deepEqual([error.constructor, error.code, error.requestId], [StreamError, 'unauthenticated', 'req_2']);
});

test('a stream ends with the loop, by a signal, and when it is silent for too long', async (t) => {
  const closed = new Promise((resolve) => {
    start(t, (_request, response) => {
      response.on('close', resolve);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(event(1, 'position'));
    }).then(async ({ client }) => {
      for await (const _ of client.events.stream()) break;
    });
  });
  await closed;
  const stays = (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(event(1, 'position'));
  };
  const aborted = await start(t, stays);
  const controller = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of aborted.client.events.stream({}, { signal: controller.signal }))
      controller.abort(new Error('enough'));
  }, /enough/);
  const silent = await start(t, stays, stays);
  await assert.rejects(async () => {
    for await (const _ of silent.client.events.stream({}, { timeoutMs: 100, maxRetries: 0 }));
  }, TimeoutError);
});

test('a part of an upload that is cut is sent again, the others are not', async (t) => {
  let puts = 0;
  const server = await startServer(
    t,
    (_, response) => {
      const parts = [0, 1, 2].map((n) => ({
        number: n + 1,
        url: `${server.baseUrl}/part/${n}`,
        offset: n * 4,
        size_bytes: n === 2 ? 2 : 4,
      }));
      data({ resource: { id: 'f' }, upload: { method: 'PUT', url: null, headers: { 'X-Part': 'y' }, parts } })(
        undefined,
        response,
      );
    },
    ...Array.from({ length: 5 }, () => (request, response) => {
      puts += 1;
      if (request.method === 'GET') return data({ id: 'f', name: 'n' })(request, response);
      return puts === 2 ? cut(request) : data({})(request, response);
    }),
  );
  const client = new Commonplace({ ...quick, baseUrl: server.baseUrl });
  const progress = [];
  const made = await client.upload({ name: 'n' }, new TextEncoder().encode('abcdefghij'), {
    concurrency: 1,
    onProgress: ({ sentBytes }) => progress.push(sentBytes),
  });
  assert.equal(made.name, 'n');
  assert.deepEqual(JSON.parse(server.requests[0].body), { name: 'n', size_bytes: 10 });
  const sent = server.requests.filter(({ method }) => method === 'PUT');
  assert.deepEqual(
    sent.map(({ url, body }) => `${url} ${body}`),
    ['/part/0 abcd', '/part/1 efgh', '/part/1 efgh', '/part/2 ij'],
  );
  // The credential is not for the addresses of parts, which may be another server's.
  assert.ok(sent.every(({ headers }) => headers.authorization === undefined && headers['x-part'] === 'y'));
  assert.deepEqual(progress, [0, 4, 8, 10]);
});

test('an upload takes as long as its bytes go out, and tells how many did', async (t) => {
  const size = 24 * 1024 * 1024;
  const server = await start(
    t,
    (_, response) => {
      const upload = { method: 'PUT', url: `${server.baseUrl}/all`, headers: {}, parts: null };
      data({ resource: { id: 'f' }, upload })(undefined, response);
    },
    slowly(data({}), 5),
    data({ id: 'f', name: 'n' }),
  );
  const client = new Commonplace({ ...quick, baseUrl: server.baseUrl, timeoutMs: 1000 });
  const progress = [];
  const began = Date.now();
  await client.upload({ name: 'n' }, new Uint8Array(size), { onProgress: ({ sentBytes }) => progress.push(sentBytes) });
  assert.ok(Date.now() - began > 1000);
  assert.equal(server.requests[1].headers['content-length'], String(size));
  assert.ok(progress.length > 20);
  assert.deepEqual([progress[0], progress.at(-1)], [0, size]);
  assert.deepEqual(
    progress,
    progress.toSorted((a, b) => a - b),
  );
});

test('a key may come from a function, and is asked for each request', async (t) => {
  const { baseUrl, requests } = await start(t, data({}), data({}));
  let number = 0;
  const client = new Commonplace({ baseUrl, apiKey: async () => `token-${++number}` });
  await client.account.getMe();
  await client.account.getMe();
  assert.deepEqual(
    requests.map(({ headers }) => headers.authorization),
    ['Bearer token-1', 'Bearer token-2'],
  );
});
