import { randomBytes } from 'node:crypto';
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
  // Nothing is traced but what says so itself.
  system = await startSystem({ COMMONPLACE_OTLP_URL: collector.url, COMMONPLACE_TRACE_RATIO: '0' });
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Traced' })).data;
}, 200_000);
afterAll(async () => {
  await system?.stop();
  await collector?.close();
}, 60_000);

/** A new trace of a client, whose request is its only span. */
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

  beforeAll(async () => {
    await create('Traced', trace.headers);
    spans = await eventually(() => {
      const found = spansOf(trace.id);
      const consumed = found.find(({ name }) => name === 'process search-index');
      // What a consumer asks of the owner comes after its own beginning, from another process on a mesh.
      const asked = found.some(({ parentSpanId }) => parentSpanId === consumed?.spanId);
      if (consumed === undefined || !asked || !found.some(({ kind }) => kind === 2)) throw new Error('not all yet');
      return found;
    }, 15_000);
  }, 30_000);

  test('runs from the request to the consumer of the index, in one piece', () => {
    const ids = new Set([trace.spanId, ...spans.map(({ spanId }) => spanId)]);
    const loose = spans.filter(({ parentSpanId }) => parentSpanId === undefined || !ids.has(parentSpanId));
    expect(loose).toEqual([]);
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

  test('says where each span was made, and of which kind it is', () => {
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

  test('is named by the semantic conventions', () => {
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

describe('what is not sampled', () => {
  test('a client that says so is believed, and so is the ratio', async () => {
    const unsampled = newTrace({ sampled: false });
    await create('Not traced', unsampled.headers);
    await create('By the ratio', {});
    const after = newTrace({ sampled: true });
    const { id } = await create('Traced again', after.headers);
    await by.get(`/resources/${id}`);
    await eventually(() => expect(spansOf(after.id).map(({ name }) => name)).toContain('process search-index'), 15_000);
    expect(spansOf(unsampled.id)).toEqual([]);
    const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === undefined || parentSpanId === '');
    expect(roots).toEqual([]);
  });

  test('a trace that is none begins none, and nothing of it goes on', async () => {
    const traceparent = `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`;
    const before = collector.spans.length;
    await create('Odd', { traceparent });
    const after = newTrace({ sampled: true });
    await create('Marker', after.headers);
    await eventually(() => expect(spansOf(after.id).map(({ name }) => name)).toContain('process search-index'), 15_000);
    const odd = collector.spans.slice(before).filter(({ traceId }) => traceId !== after.id);
    expect(odd.filter(({ traceId }) => /^0+$/.test(traceId))).toEqual([]);
  });
});

test('no span names a record of a user, but events do by their ids', async () => {
  const trace = newTrace({ sampled: true });
  const { id } = await create('Read', {});
  await by.get(`/resources/${id}`, { headers: trace.headers });
  await eventually(() => expect(spansOf(trace.id).some(({ kind }) => kind === 2)).toBe(true), 15_000);
  expect(JSON.stringify(spansOf(trace.id))).not.toContain(id);
});
