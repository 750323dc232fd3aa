import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { hasJaeger, type Jaeger, type JaegerSpan, startJaeger } from '../src/jaeger.js';
import type { Resource, Workspace } from '../src/records.js';
import { mode, type OwnSystem, startSystem } from '../src/system.js';

/** Creates the span of a client's own request. */
const CLIENT_SPAN = randomBytes(8).toString('hex');

const suite = hasJaeger ? describe : describe.skip;

suite('a real trace store (scripts/tools/jaeger.sh)', () => {
  let jaeger: Jaeger;
  let system: OwnSystem;
  let spans: JaegerSpan[];

  beforeAll(async () => {
    jaeger = await startJaeger();
    system = await startSystem({ COMMONPLACE_OTLP_URL: jaeger.otlpUrl, COMMONPLACE_TRACE_RATIO: '1' });
    const by = api(system, system.owner.apiKey);
    const { id } = (await by.post<Workspace>('/workspaces', { name: 'Traced' })).data;
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${CLIENT_SPAN}-01` };
    await by.post<Resource>('/resources', { type: 'document', name: 'Traced', workspace_id: id }, { headers });
    spans = await eventually(async () => {
      const found = await jaeger.trace(traceId);
      const services = new Set(found.map(({ service }) => service));
      const wanted = mode === 'mesh' ? ['gateway', 'resources', 'search'] : ['commonplace'];
      const asked = found.some(({ operationName }) => operationName.endsWith('IndexService/GetIndexEntries'));
      if (!asked || !wanted.every((one) => services.has(one))) throw new Error(`has ${[...services].join()} so far`);
      if (!found.some(({ operationName }) => operationName === 'POST /api/v1/resources')) throw new Error('no request');
      // A span that ends later is sent later.
      expect(looseIn(found)).toEqual([]);
      expect(found.map(({ operationName }) => operationName)).toEqual(
        expect.arrayContaining(['process search-index', 'send commonplace', expect.stringMatching(/^commit /)]),
      );
      return found;
    });
  }, 240_000);
  afterAll(async () => {
    await system?.stop();
    await jaeger?.close();
  });

  test('returns one trace from the request through gateway, resources, store, outbox and broker to the index', () => {
    const place = (span: JaegerSpan) =>
      mode === 'mesh' ? `${span.service}: ${span.operationName}` : span.operationName;
    const way = pathTo(spans, ({ operationName }) => operationName === 'process search-index').map(place);
    const places = spans.map(place);
    if (mode === 'mesh') {
      expect(way).toEqual([
        'gateway: POST /api/v1/resources',
        'gateway: commonplace.resources.v1.ResourceService/CreateResource',
        'resources: commonplace.resources.v1.ResourceService/CreateResource',
        'search: process search-index',
      ]);
      expect(places).toContain('resources: commit commonplace_resources');
      expect(places).toContain('resources: send commonplace');
    } else {
      expect(way).toEqual([
        'POST /api/v1/resources',
        'commonplace.resources.v1.ResourceService/CreateResource',
        'process search-index',
      ]);
      expect(places).toContain('commit resources');
      expect(places).toContain('send commonplace');
    }
  });

  test('has no span without its parent', () => {
    expect(looseIn(spans)).toEqual([]);
  });
});

/** Returns the names of the spans whose parent is missing. */
function looseIn(spans: readonly JaegerSpan[]): string[] {
  const ids = new Set([CLIENT_SPAN, ...spans.map(({ spanID }) => spanID)]);
  const loose = spans.filter(({ references }) => !references.some(({ spanID }) => ids.has(spanID)));
  return loose.map(({ operationName }) => operationName);
}

/** Returns the ancestors of a span, from the first one down to the span itself. */
function pathTo(spans: readonly JaegerSpan[], is: (span: JaegerSpan) => boolean): JaegerSpan[] {
  const way: JaegerSpan[] = [];
  let span = spans.find(is);
  while (span !== undefined) {
    way.unshift(span);
    const [above] = span.references;
    span = spans.find(({ spanID }) => spanID === above?.spanID);
  }
  return way;
}
