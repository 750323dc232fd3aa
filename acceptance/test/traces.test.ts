import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { type CollectedSpan, type Collector, startCollector } from '../src/collector.js';
import { eventually } from '../src/eventually.js';
import type { Resource, Workspace } from '../src/records.js';
import { mode, type OwnSystem, startSystem } from '../src/system.js';

let collector: Collector;
let system: OwnSystem;
let by: Api;
let workspace: Workspace;

beforeAll(async () => {
  collector = await startCollector();
  // Only requests with the sampled flag are traced, as behind a proxy that decides.
  system = await startSystem({
    COMMONPLACE_OTLP_URL: collector.url,
    COMMONPLACE_TRACE_RATIO: '0',
    COMMONPLACE_TRUSTED_PROXIES: '127.0.0.1',
    COMMONPLACE_TRUST_TRACEPARENT: '1',
  });
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Traced' })).data;
}, 200_000);
afterAll(async () => {
  await system?.stop();
  await collector?.close();
});

/** Creates a new trace of a client, whose request is its only span. */
function newTrace({ sampled }: { readonly sampled: boolean }) {
  const id = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { id, spanId, headers: { traceparent: `00-${id}-${spanId}-0${sampled ? 1 : 0}` } };
}

function spansOf(traceId: string): CollectedSpan[] {
  return collector.spans.filter((span) => span.traceId === traceId);
}

async function create(name: string, headers: Record<string, string>): Promise<Resource> {
  const body = { type: 'document', name, content: 'Some words.', workspace_id: workspace.id };
  return (await by.post<Resource>('/resources', body, { headers })).data;
}

describe('the trace of a creation', () => {
  let spans: CollectedSpan[];
  const trace = newTrace({ sampled: true });

  /** Spans whose parent is missing; a parent that ends later is sent later. */
  function looseIn(some: readonly CollectedSpan[]): readonly CollectedSpan[] {
    const ids = new Set([trace.spanId, ...some.map(({ spanId }) => spanId)]);
    return some.filter(({ parentSpanId }) => parentSpanId === undefined || !ids.has(parentSpanId));
  }

  beforeAll(async () => {
    await create('Traced', trace.headers);
    spans = await eventually(() => {
      const found = spansOf(trace.id);
      const consumed = found.find(({ name }) => name === 'process search-index');
      // A consumer's calls to the owner start after the consumer, from another process on a mesh.
      const asked = found.some(({ parentSpanId }) => parentSpanId === consumed?.spanId);
      if (consumed === undefined || !asked || !found.some(({ kind }) => kind === 2)) throw new Error('not all yet');
      expect(looseIn(found)).toEqual([]);
      expect(found.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['send commonplace', expect.stringMatching(/^commit /)]),
      );
      return found;
    });
  });

  test('runs from the request to the consumer of the index without interruption', () => {
    expect(looseIn(spans)).toEqual([]);
    const names = spans.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'POST /api/v1/resources',
        'commonplace.resources.v1.ResourceService/CreateResource',
        expect.stringMatching(/^commit /),
        'send commonplace',
        'process search-index',
        'commonplace.resources.v1.IndexService/GetIndexEntries',
      ]),
    );
  });

  test('has the process and the kind of each span', () => {
    const embedded = mode === 'embedded';
    const of = (name: string) => spans.filter((span) => span.name === name).map(({ service, kind }) => [service, kind]);
    expect(of('POST /api/v1/resources')).toEqual([[embedded ? 'commonplace' : 'gateway', 2]]);
    expect(of('commonplace.resources.v1.ResourceService/CreateResource')).toEqual(
      embedded
        ? [['commonplace', 1]]
        : expect.arrayContaining([
            ['gateway', 3],
            ['resources', 2],
          ]),
    );
    expect(of('process search-index')).toContainEqual([embedded ? 'commonplace' : 'search', 5]);
    expect(of('send commonplace')).toContainEqual([embedded ? 'commonplace' : 'resources', 4]);
  });

  test('has names of the semantic conventions', () => {
    const http = spans.find(({ name }) => name === 'POST /api/v1/resources');
    expect(http?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/api/v1/resources',
      'url.path': '/api/v1/resources',
      'commonplace.request_id': expect.stringMatching(/^req_/),
    });
    const stored = spans.find(({ name }) => name.startsWith('commit '));
    expect(stored?.attributes).toMatchObject({
      'db.system.name': mode === 'embedded' ? 'sqlite' : 'mongodb',
      'db.operation.name': 'commit',
    });
    const consumed = spans.find(({ name }) => name === 'process search-index');
    expect(consumed?.attributes).toMatchObject({
      'messaging.system.name': mode === 'embedded' ? 'sqlite' : 'nats',
      'messaging.operation.type': 'process',
      'messaging.consumer.group.name': 'search-index',
    });
  });
});

describe('work that continues after the response', () => {
  const ofWorkspace = (path: string) => `/workspaces/${workspace.id}${path}`;

  test.each([
    ['an import', 'job files.imports', '/imports', { source_type: 'markdown', content: '# One' }],
    ['an export', 'job files.archives', '/archive', { mode: 'export' }],
  ])('%s belongs to the trace that started it', async (_, job, path, body) => {
    const { id, headers } = newTrace({ sampled: true });
    expect([201, 202]).toContain((await by.post(ofWorkspace(path), body, { headers })).status);
    await eventually(() => expect(spansOf(id).map(({ name }) => name)).toContain(job));
  });

  test('the fetch of a URL belongs to the trace that started it', async () => {
    const { id, headers } = newTrace({ sampled: true });
    const body = { name: 'there.txt', source_url: 'https://files.example/there.txt', workspace_id: workspace.id };
    expect((await by.post('/files', body, { headers })).status).toBe(201);
    await eventually(() => expect(spansOf(id).map(({ name }) => name)).toContain('job files.uploads'));
  });
});

describe('sampling', () => {
  test('respects the sampled flag of a trusted client, and the ratio', async () => {
    const unsampled = newTrace({ sampled: false });
    await create('Not traced', unsampled.headers);
    await create('By the ratio', {});
    const after = newTrace({ sampled: true });
    const { id } = await create('Traced again', after.headers);
    await by.get(`/resources/${id}`);
    await eventually(() => expect(spansOf(after.id).map(({ name }) => name)).toContain('process search-index'));
    expect(spansOf(unsampled.id)).toEqual([]);
    const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === undefined || parentSpanId === '');
    expect(roots).toEqual([]);
  });

  test('an invalid trace starts none, and nothing of it is propagated', async () => {
    const traceparent = `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`;
    const before = collector.spans.length;
    await create('Odd', { traceparent });
    const after = newTrace({ sampled: true });
    await create('Marker', after.headers);
    await eventually(() => expect(spansOf(after.id).map(({ name }) => name)).toContain('process search-index'));
    const odd = collector.spans.slice(before).filter(({ traceId }) => traceId !== after.id);
    expect(odd.filter(({ traceId }) => /^0+$/.test(traceId))).toEqual([]);
  });
});

test('no span of a read contains the id of its record', async () => {
  const trace = newTrace({ sampled: true });
  const { id } = await create('Read', {});
  await by.get(`/resources/${id}`, { headers: trace.headers });
  await eventually(() => expect(spansOf(trace.id).some(({ kind }) => kind === 2)).toBe(true));
  expect(JSON.stringify(spansOf(trace.id))).not.toContain(id);
});

test('a client without a trusted proxy does not decide whether a trace is sampled', async () => {
  const trace = newTrace({ sampled: true });
  for (let i = 0; i < 20; i++) expect(await statusFrom(STRANGER, trace.headers)).toBe(200);
  const marker = newTrace({ sampled: true });
  await create('Marker', marker.headers);
  await eventually(() => expect(spansOf(marker.id)).not.toEqual([]));
  expect(spansOf(trace.id)).toEqual([]);
});

/** An address of this machine that is not a trusted proxy. */
const STRANGER = '127.0.0.2';

/** Returns the status of a request from an address of this machine. */
function statusFrom(localAddress: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const authorization = `Bearer ${system.owner.apiKey}`;
    const options = { localAddress, headers: { ...headers, Authorization: authorization }, agent: false };
    get(`${system.baseUrl}/api/v1/me`, options, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode));
    }).once('error', reject);
  });
}

test('the calls of a batch are parts of its trace', async () => {
  const trace = newTrace({ sampled: true });
  const requests = [
    { id: 'me', method: 'GET', path: '/api/v1/me' },
    { id: 'list', method: 'GET', path: `/api/v1/workspaces/${workspace.id}/resources` },
  ];
  await by.post('/batch', { requests }, { headers: trace.headers });
  const [batch, ...calls] = await eventually(() => {
    const found = spansOf(trace.id).filter(({ name }) => /^(GET|POST) /.test(name));
    const names = ['POST /api/v1/batch', 'GET /api/v1/me', 'GET /api/v1/workspaces/{workspace_id}/resources'];
    expect(found.map(({ name }) => name).sort()).toEqual([...names].sort());
    return names.map((name) => found.find((span) => span.name === name) as CollectedSpan);
  });
  expect(batch?.parentSpanId).toBe(trace.spanId);
  expect(calls.map(({ parentSpanId }) => parentSpanId)).toEqual([batch?.spanId, batch?.spanId]);
});
