import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fromGrpc, toGrpc } from '@commonplace/adapters/grpc';
import { readConfig } from '@commonplace/kit/config';
import { silentLog } from '@commonplace/kit/log';
import {
  currentSpan,
  histogram,
  observeRequest,
  passedOn,
  readOtelSettings,
  receivedTrace,
  requestSpan,
  startTelemetry,
  type Telemetry,
  telemetrySettings,
  traceContext,
  traceHeaders,
  within,
} from '@commonplace/kit/telemetry';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { context, propagation, type SpanContext, trace } from '@opentelemetry/api';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SAMPLED = `00-${TRACE}-b7ad6b7169203331-01`;
const STATE = 'vendor=a:b,other@x=1';

interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly links?: readonly { readonly spanId: string }[];
}
interface Exported {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly { key: string; value: { stringValue: string } }[] };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

let collector: Server;
let url: string;
let telemetry: Telemetry | undefined;
const received: { path: string; headers: NodeJS.Dict<string | string[]>; body: Exported }[] = [];

beforeEach(async () => {
  received.length = 0;
  collector = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    received.push({ path: request.url ?? '', headers: request.headers, body: JSON.parse(body) as Exported });
    response.writeHead(200).end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
});

const before = { ...process.env };
afterEach(async () => {
  await telemetry?.close();
  telemetry = undefined;
  collector.closeAllConnections();
  collector.close();
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
  Object.assign(process.env, before);
});

/** Starts telemetry with variables that are in the environment of the process, where exporters read them too. */
async function start(env: Record<string, string>): Promise<void> {
  Object.assign(process.env, env);
  const settings = readConfig(telemetrySettings, env);
  telemetry = await startTelemetry({
    ...{ ...settings, service: 'test', version: '1', log: silentLog },
    otel: readOtelSettings(env),
  });
}

/** Stops telemetry, and returns what the collector got. */
async function exported() {
  await telemetry?.close();
  telemetry = undefined;
  const all = received.flatMap(({ body }) => body.resourceSpans ?? []);
  const attributes = Object.fromEntries(
    all.flatMap(({ resource }) => resource.attributes).map(({ key, value }) => [key, value.stringValue]),
  );
  return { attributes, spans: all.flatMap(({ scopeSpans }) => scopeSpans).flatMap(({ spans }) => spans) };
}

test('the collector, its headers, the resource and the sampler come from variables of OpenTelemetry', async () => {
  await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=it',
    OTEL_SERVICE_NAME: 'workspace',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20b,team=core,service.name=other',
    OTEL_TRACES_SAMPLER: 'parentbased_always_on',
  });
  requestSpan('GET', 'http', undefined, false)?.end();
  const { attributes, spans } = await exported();
  expect(spans).toHaveLength(1);
  expect(attributes).toMatchObject({
    'service.name': 'workspace',
    'service.namespace': 'commonplace',
    'deployment.environment.name': 'a b',
    team: 'core',
  });
  expect(received.map(({ path }) => path)).toEqual(expect.arrayContaining(['/v1/traces', '/v1/metrics']));
  expect(received.every(({ headers }) => headers['x-key'] === 'it')).toBe(true);
});

test.each([
  ['always_off', undefined, 0],
  ['parentbased_always_off', undefined, 0],
  ['traceidratio', '0', 0],
  ['parentbased_traceidratio', '1', 40],
  ['always_on', undefined, 40],
])('OTEL_TRACES_SAMPLER=%s with %s samples %i of 40 requests', async (sampler, arg, count) => {
  await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_TRACES_SAMPLER: sampler,
    ...(arg && { OTEL_TRACES_SAMPLER_ARG: arg }),
  });
  // A client that says `sampled` is not followed unless it is trusted.
  for (let i = 0; i < 40; i++) requestSpan('GET', 'http', SAMPLED, false)?.end();
  expect((await exported()).spans).toHaveLength(count);
});

test('settings of our own take precedence over variables of OpenTelemetry', async () => {
  await start({
    COMMONPLACE_OTLP_URL: url,
    COMMONPLACE_TRACE_RATIO: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_TRACES_SAMPLER: 'always_off',
  });
  requestSpan('GET', 'http', undefined, false)?.end();
  expect((await exported()).spans).toHaveLength(1);
});

test('signals that variables of OpenTelemetry disable stay disabled', async () => {
  await start({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'TRUE' });
  expect(requestSpan('GET', 'http', SAMPLED, true)).toBeUndefined();
  await telemetry?.close();
  await start({ OTEL_SDK_DISABLED: '', OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: 'none' });
  expect(requestSpan('GET', 'http', SAMPLED, true)).toBeUndefined();
});

test('OTEL_METRICS_EXPORTER=prometheus opens the page', async () => {
  await start({ OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_PORT: '0' });
  expect((await fetch(`http://127.0.0.1:${telemetry?.metricsPort}/metrics`)).status).toBe(200);
});

test('unsupported values are ignored and reported', () => {
  const { ignored, ratio, tracecontext } = readOtelSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_PROPAGATORS: 'b3',
    OTEL_RESOURCE_ATTRIBUTES: 'a=%zz',
    OTEL_TRACES_EXPORTER: 'console',
    OTEL_BSP_MAX_QUEUE_SIZE: 'many',
  });
  expect([...ignored].sort()).toEqual([
    'OTEL_BSP_MAX_QUEUE_SIZE',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'OTEL_PROPAGATORS',
    'OTEL_RESOURCE_ATTRIBUTES',
    'OTEL_TRACES_EXPORTER',
    'OTEL_TRACES_SAMPLER',
    'OTEL_TRACES_SAMPLER_ARG',
  ]);
  expect([ratio, tracecontext]).toEqual([undefined, true]);
});

test('tracestate is propagated with the trace: to calls, other servers and the collector', async () => {
  await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '1' });
  const given = receivedTrace({ traceparent: SAMPLED, tracestate: `vendor=a:b , other@x=1` });
  const span = requestSpan('GET', 'http', given, false);
  const context = passedOn(span, given, false);
  const { call } = fromGrpc(toGrpc({ requestId: 'r', traceparent: context }, 'peer'));
  expect(traceHeaders(call.traceparent)).toEqual({ traceparent: expect.stringContaining(TRACE), tracestate: STATE });
  const sent = await within(span, () =>
    observeRequest('POST', 'receiver.example', async (headers) => ({ statusCode: 200, headers })),
  );
  expect(sent.headers).toEqual({ traceparent: expect.stringContaining(TRACE), tracestate: STATE });
  span?.end();
  const { spans } = await exported();
  expect(spans.map(({ traceState }) => traceState)).toEqual([STATE, STATE]);
});

test('an unsampled trace keeps its tracestate, and an invalid one is dropped', () => {
  expect(passedOn(undefined, `${SAMPLED};${STATE}`, false)).toBe(`${SAMPLED.replace(/01$/, '00')};${STATE}`);
  for (const state of [undefined, '', ' , ', 'a', '=b', 'A=b', 'a=b\u0001', `a=${'x'.repeat(600)}`]) {
    expect(traceContext(SAMPLED, state)).toBe(SAMPLED);
  }
  const many = Array.from({ length: 33 }, (_, i) => `a${i}=b`).join();
  expect(traceContext(SAMPLED, many)).toBe(SAMPLED);
  expect(traceContext(`${SAMPLED};a=b`, undefined)).toBeUndefined();
});

test('without the propagator traces begin here and are not propagated', async () => {
  await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '1', OTEL_PROPAGATORS: 'none' });
  const given = receivedTrace({ traceparent: SAMPLED });
  expect(given).toBeUndefined();
  const span = requestSpan('GET', 'http', given, false);
  const sent = await within(span, () =>
    observeRequest('GET', 'a.example', async (headers) => ({ statusCode: 200, headers })),
  );
  expect(sent.headers).toEqual({});
});

test('spans of libraries join our traces, and ours are children of theirs', async () => {
  await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '1' });
  const library = trace.getTracer('library');
  const span = requestSpan('GET', 'http', SAMPLED, true);
  await within(span, () =>
    library.startActiveSpan(
      'of a library',
      { links: [{ context: trace.getActiveSpan()?.spanContext() as SpanContext }] },
      async (its) => {
        its.setAttribute('a', [1, 2]);
        await new Promise((resolve) => setImmediate(resolve));
        expect(currentSpan()?.spanId).toBe(its.spanContext().spanId);
        await observeRequest('GET', 'a.example', async () => ({ statusCode: 200 }));
        const carrier: Record<string, string> = {};
        propagation.inject(context.active(), carrier);
        expect(carrier.traceparent).toContain(its.spanContext().spanId);
        its.end();
      },
    ),
  );
  span?.end();
  const { spans } = await exported();
  const byName = new Map(spans.map((one) => [one.name, one]));
  expect(byName.get('of a library')).toMatchObject({
    traceId: TRACE,
    parentSpanId: span?.spanId,
    links: [expect.objectContaining({ spanId: span?.spanId })],
  });
  expect(spans.filter(({ parentSpanId }) => parentSpanId === byName.get('of a library')?.spanId)).toHaveLength(1);
});

test('libraries create no spans outside of a sampled request, nor after telemetry has ended', async () => {
  await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '1' });
  const alone = trace.getTracer('library').startSpan('alone');
  expect(alone.isRecording()).toBe(false);
  alone.end();
  expect((await exported()).spans).toEqual([]);
  expect(trace.getTracer('library').startSpan('late').isRecording()).toBe(false);
});

test('the OpenMetrics page has exemplars of sampled requests, and the names of the plain page', async () => {
  await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_METRICS_PORT: '0', COMMONPLACE_TRACE_RATIO: '1' });
  const durations = histogram('test.exemplar.duration', 's', 'd', [0.1, 1]);
  const series = durations.bind({ 'test.route': '/a/{b}', kind: 'x "y"' });
  const span = requestSpan('GET', 'http', SAMPLED, true);
  await within(span, async () => series.record(0.5));
  series.record(0.05);
  const page = `http://127.0.0.1:${telemetry?.metricsPort}/metrics`;
  const answer = await fetch(page, { headers: { accept: 'application/openmetrics-text;version=1.0.0,*/*;q=0.1' } });
  expect(answer.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
  const text = await answer.text();
  expect(text).toMatch(
    new RegExp(
      String.raw`test_exemplar_duration_seconds_bucket\{.*le="1"\} 2 # \{trace_id="${TRACE}",span_id="${span?.spanId}"\} 0\.5 \d+\.\d{3}\n`,
    ),
  );
  expect(text).toMatch(/_bucket\{.*le="0\.1"\} 1\n/);
  expect(text).toMatch(/# TYPE process_cpu_time_seconds counter\n(?:.*\n)*?process_cpu_time_seconds_total/);
  expect(text.endsWith('\n# EOF\n')).toBe(true);
  const plain = await (await fetch(page)).text();
  const names = (of: string) => [...new Set(of.match(/^[a-z]\w+(?=[{ ])/gm))].sort();
  expect(names(text)).toEqual(names(plain));
});
