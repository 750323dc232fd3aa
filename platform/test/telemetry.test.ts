import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ArrivedCall } from '@commonplace/adapters/calls';
import { observeHandler } from '@commonplace/adapters/events';
import { createPeerTokens } from '@commonplace/kit/auth';
import { readConfig } from '@commonplace/kit/config';
import type { DomainEvent } from '@commonplace/kit/events';
import { type Log, silentLog } from '@commonplace/kit/log';
import { serveMethods } from '@commonplace/kit/rpc';
import {
  continuing,
  counter,
  currentSpan,
  currentTraceFields,
  gauge,
  histogram,
  passedOn,
  readOtelSettings,
  readTraceparent,
  requestSpan,
  startTelemetry,
  type Telemetry,
  telemetrySettings,
  within,
} from '@commonplace/kit/telemetry';
import { afterEach, describe, expect, test } from '@jest/globals';
import { contracts } from '../src/contracts/index.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SAMPLED = `00-${TRACE}-b7ad6b7169203331-01`;

let telemetry: Telemetry | undefined;
let collector: Server | undefined;
afterEach(async () => {
  await telemetry?.close();
  collector?.closeAllConnections();
  collector?.close();
  telemetry = undefined;
  collector = undefined;
});

function start(env: Record<string, string>): Promise<Telemetry> {
  const settings = readConfig(telemetrySettings, env);
  return startTelemetry({ ...settings, service: 'test', version: '1', log: silentLog, otel: readOtelSettings(env) });
}

async function page(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${telemetry?.metricsPort}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
}

/** Starts a server that receives exports and responds with `status`. */
async function startCollector(
  status: number,
  onExport: (body: string, path: string) => void = () => {},
): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = '';
    try {
      for await (const chunk of request) body += String(chunk);
    } catch {
      // The test has ended.
      return;
    }
    onExport(body, request.url ?? '');
    response.writeHead(status).end('{}');
  });
  collector = server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('if nothing is enabled', () => {
  test('there is no page and no span, and nothing is loaded', async () => {
    telemetry = await start({});
    expect(telemetry.metricsPort).toBeUndefined();
    expect(requestSpan('GET', 'http', SAMPLED, true)).toBeUndefined();
    expect(await within(undefined, async () => currentSpan())).toBeUndefined();
  });

  test('a trace continues as not sampled unless its client decides, and an invalid one does not continue', () => {
    expect(passedOn(undefined, SAMPLED, false)).toBe(SAMPLED.replace(/01$/, '00'));
    expect(passedOn(undefined, SAMPLED, true)).toBe(SAMPLED);
    for (const odd of ['', 'x', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, `${SAMPLED}${'-x'.repeat(100)}`]) {
      expect(passedOn(undefined, odd, false)).toBeUndefined();
      expect(passedOn(undefined, odd, true)).toBeUndefined();
    }
  });
});

test('invalid settings are refused', () => {
  for (const [variable, value] of [
    ['OTLP_URL', 'collector:4317'],
    ['OTLP_URL', 'http://user:secret@collector:4318'],
    ['OTLP_HEADERS', 'authorization'],
    ['TRACE_RATIO', '10 %'],
    ['TRACE_RATIO', '1.1'],
  ]) {
    const env = { [`COMMONPLACE_${variable}`]: value };
    expect(() => readConfig(telemetrySettings, env)).toThrow(`COMMONPLACE_${variable} must`);
  }
});

describe('traceparent', () => {
  test('determines whether it is sampled', () => {
    expect(readTraceparent(SAMPLED)).toEqual({ traceId: TRACE, spanId: 'b7ad6b7169203331', sampled: true });
    expect(readTraceparent(SAMPLED.replace(/01$/, '00'))?.sampled).toBe(false);
    // A later version may append further fields.
    expect(readTraceparent(`cc-${TRACE}-b7ad6b7169203331-03-more`)?.sampled).toBe(true);
  });

  test.each([`ff-${TRACE}-b7ad6b7169203331-01`, `00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`, `00-${TRACE}-01`])(
    '%s is invalid',
    (text) => {
      expect(readTraceparent(text)).toBeUndefined();
    },
  );
});

describe('the page for Prometheus', () => {
  test('has the measured values, with units in names, and serves nothing else', async () => {
    const durations = histogram('test.page.duration', 's', 'd', [0.1, 1]);
    const hits = counter('test.page.hits', '{hit}', 'd').bind({ kind: 'a' });
    const level = gauge('test.page.level', 'By', 'd');
    const end = level.observe(() => [{ attributes: {}, value: 7 }]);
    level.observe(() => {
      throw new Error('a source that fails takes nothing with it');
    });
    telemetry = await start({ COMMONPLACE_METRICS_PORT: '0' });
    const series = durations.bind({ 'http.route': '/a' });
    for (const seconds of [0.05, 0.1, 0.5, 3]) series.record(seconds);
    hits.add();
    hits.add(2);
    const text = await page();
    const lines = text.split('\n').filter((line) => line.startsWith('test_page'));
    expect(lines).toEqual([
      'test_page_duration_seconds_count{http_route="/a"} 4',
      'test_page_duration_seconds_sum{http_route="/a"} 3.65',
      'test_page_duration_seconds_bucket{http_route="/a",le="0.1"} 2',
      'test_page_duration_seconds_bucket{http_route="/a",le="1"} 3',
      'test_page_duration_seconds_bucket{http_route="/a",le="+Inf"} 4',
      'test_page_hits_total{kind="a"} 3',
      'test_page_level_bytes 7',
    ]);
    expect(text).toMatch(/^target_info\{.*service_name="test"/m);
    expect(text).toMatch(/^process_cpu_time_seconds_total\{process_cpu_state="user"\} /m);
    end();
    expect(await page()).not.toContain('test_page_level');
    const other = await fetch(`http://127.0.0.1:${telemetry?.metricsPort}/`);
    expect(other.status).toBe(404);
  });

  test('an unlimited number of attributes becomes one series', async () => {
    const many = counter('test.many', '1', 'd');
    for (let i = 0; i < 3000; i++) many.bind({ i }).add();
    telemetry = await start({ COMMONPLACE_METRICS_PORT: '0' });
    const lines = (await page()).split('\n').filter((line) => line.startsWith('test_many'));
    expect(lines).toHaveLength(2001);
    expect(lines).toContain('test_many_ratio_total{otel_metric_overflow="true"} 1000');
  });
});

describe('traces', () => {
  const event = (id: string, traceparent?: string): DomainEvent => ({
    specversion: '1.0',
    id,
    source: '/test',
    type: 'commonplace.test.done',
    subject: 's',
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data: {},
    ...(traceparent === undefined ? {} : { traceparent }),
  });

  test('begin by the ratio, whatever an untrusted client says', async () => {
    const url = await startCollector(200);
    telemetry = await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '0' });
    for (let i = 0; i < 100; i++) expect(requestSpan('GET', 'http', SAMPLED, false)).toBeUndefined();
    await telemetry.close();
    telemetry = await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '1' });
    const span = requestSpan('GET', 'http', SAMPLED.replace(/01$/, '00'), false);
    expect(span?.traceId).toBe(TRACE);
    expect(span?.traceparent).toMatch(/-01$/);
  });

  test('begin by the ratio, and below a trusted client by what the client says', async () => {
    const url = await startCollector(200);
    telemetry = await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '0' });
    expect(requestSpan('GET', 'http', undefined, false)).toBeUndefined();
    const span = requestSpan('GET', 'http', SAMPLED, true);
    expect(span?.traceId).toBe(TRACE);
    expect(span?.spanId).not.toBe('b7ad6b7169203331');
    await telemetry.close();
    telemetry = await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '1' });
    expect(requestSpan('GET', 'http', undefined, false)).toBeDefined();
    expect(requestSpan('GET', 'http', SAMPLED.replace(/01$/, '00'), true)).toBeUndefined();
  });

  test('continue in later work and in consumers, and work of another request stays out of them', async () => {
    const url = await startCollector(200);
    telemetry = await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '0' });
    const seen: (string | undefined)[] = [];
    const note = async () => void seen.push(currentSpan()?.traceId);
    const outer = requestSpan('GET', 'http', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, true);
    await within(outer, async () => {
      await note();
      await continuing(SAMPLED, 'job', {}, note);
      await continuing(undefined, 'job', {}, note);
      const handle = observeHandler('test', { consumer: 'c', types: [] }, note);
      await handle([event('1', SAMPLED)]);
      await handle([event('2')]);
      await note();
    });
    expect(seen).toEqual(['a'.repeat(32), TRACE, undefined, TRACE, undefined, 'a'.repeat(32)]);
  });

  test('a log line has the trace of the request in which it is written', async () => {
    telemetry = await start({ COMMONPLACE_OTLP_URL: await startCollector(200), COMMONPLACE_TRACE_RATIO: '0' });
    const span = requestSpan('GET', 'http', SAMPLED, true);
    const inRequest = await within(span, async () => currentTraceFields());
    expect(inRequest).toEqual({ trace_id: TRACE, span_id: span?.spanId });
    expect(currentTraceFields()).toEqual({});
  });

  test('a served call and a stream have a span in which their handlers run, and a failure is logged with it', async () => {
    let bodies = '';
    const url = await startCollector(200, (body, path) => {
      if (path === '/v1/traces') bodies += body;
    });
    telemetry = await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '0' });
    const logged: object[] = [];
    const seen: (string | undefined)[] = [];
    const note = async () => void seen.push(currentSpan()?.spanId);
    const { methods, call, unary, stream } = await serveIndex((_, fields) => void logged.push(fields ?? {}), {
      async unary() {
        await note();
        throw new Error('broken');
      },
      async *stream() {
        await note();
        yield 'one';
        await note();
      },
    });
    await expect(methods.get(unary)?.unary({}, call())).rejects.toMatchObject({ code: 'INTERNAL' });
    const messages: unknown[] = [];
    for await (const message of methods.get(stream)?.stream({}, call()) ?? []) messages.push(message);
    expect(messages).toEqual(['one']);
    await telemetry.close();
    telemetry = undefined;
    const [failed, begun, later] = seen;
    expect(seen).toEqual([expect.any(String), expect.any(String), begun]);
    expect([failed !== begun, later]).toEqual([true, begun]);
    expect(logged).toMatchObject([{ trace_id: TRACE, span_id: failed, method: unary }]);
    const spanOf = (path: string) =>
      new RegExp(`"spanId":"(\\w+)","parentSpanId":"b7ad6b7169203331","name":"${path.slice(1)}"`);
    expect([spanOf(unary).exec(bodies)?.[1], spanOf(stream).exec(bodies)?.[1]]).toEqual([failed, begun]);
    expect(bodies.match(/"error.type"/g)).toHaveLength(1);
  });

  test('one delivery of several events has a span in the trace of each', async () => {
    let bodies = '';
    const url = await startCollector(200, (body, path) => {
      if (path === '/v1/traces') bodies += body;
    });
    telemetry = await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '0' });
    const other = SAMPLED.replace(TRACE, 'c'.repeat(32));
    const handle = observeHandler('test', { consumer: 'c', types: [], batch: 3 }, async () => {});
    await handle([event('1', SAMPLED), event('2'), event('3', other)]);
    await telemetry.close();
    telemetry = undefined;
    expect(bodies.match(/"name":"process c"/g)).toHaveLength(2);
    for (const id of [TRACE, 'c'.repeat(32)]) expect(bodies).toContain(`"traceId":"${id}"`);
  });
});

/** Serves one call and one stream of a fake service, as to another process that traces. */
async function serveIndex(
  error: Log['error'],
  { unary, stream }: { unary(): Promise<never>; stream(): AsyncIterable<unknown> },
) {
  const peers = createPeerTokens(Buffer.alloc(32), 'search');
  const methods = Object.values(contracts.index.definition);
  const handlers = Object.entries(contracts.index.definition).map(
    ([name, { responseStream }]) => [name, responseStream ? stream : unary] as const,
  );
  const served = await serveMethods(contracts.index, Object.fromEntries(handlers) as never, {
    service: 'test',
    store: { collection: async () => ({}) } as never,
    verifyCaller: async () => {
      throw new Error('nobody comes with a token');
    },
    peers,
    log: { ...silentLog, error },
  });
  const metadata = { requestId: 'r', traceparent: SAMPLED };
  const call = () => new ArrivedCall({ metadata, deadline: Date.now() + 60_000 }, peers.mint(), true);
  const pathOf = (streams: boolean) => methods.find(({ responseStream }) => responseStream === streams)?.path ?? '';
  return { methods: served, call, unary: pathOf(false), stream: pathOf(true) };
}

describe('an unreachable collector', () => {
  test.each(['is gone', 'refuses'])('blocks nothing, and no trace begins for a while: it %s', async (how) => {
    const url = how === 'refuses' ? await startCollector(400) : 'http://127.0.0.1:9';
    telemetry = await start({ COMMONPLACE_OTLP_URL: url, COMMONPLACE_TRACE_RATIO: '1' });
    expect(requestSpan('GET', 'http', undefined, false)).toBeDefined();
    for (let i = 0; i < 600; i++) requestSpan('GET', 'http', undefined, false)?.end();
    const until = performance.now() + 60_000;
    while (requestSpan('GET', 'http', undefined, false) !== undefined && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(requestSpan('GET', 'http', undefined, false)).toBeUndefined();
    // Requests with a trace are still sampled, and spans that cannot be sent are dropped.
    for (let i = 0; i < 5000; i++) requestSpan('GET', 'http', SAMPLED, true)?.end();
  });
});
