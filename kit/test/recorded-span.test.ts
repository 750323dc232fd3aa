import { expect, jest, test } from '@jest/globals';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, RandomIdGenerator, type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';
import { RecordedSpan } from '../src/telemetry/recorded-span.js';

const resource = resourceFromAttributes({ 'service.name': 'test' });
const instrumentationScope = { name: 'commonplace', version: '1' };
const ids = new RandomIdGenerator();

/** Creates a processor that records the spans that end, in order. */
function ended() {
  const spans: ReadableSpan[] = [];
  return { spans, processor: { onEnd: (span: ReadableSpan) => void spans.push(span) } };
}

/** Returns the properties of a span that an exporter reads and that are equal for spans created the same way. */
function facts({ name, kind, status, attributes, links, events, ended, resource: made, ...span }: ReadableSpan) {
  const { droppedAttributesCount, droppedEventsCount, droppedLinksCount } = span;
  const dropped = { droppedAttributesCount, droppedEventsCount, droppedLinksCount };
  return { name, kind, status, attributes: { ...attributes }, links, events, ended, of: made.attributes, ...dropped };
}

const ms = ([seconds, nanoseconds]: readonly [number, number]) => seconds * 1000 + nanoseconds / 1e6;

test('an exporter reads from a recorded span what it reads from a span of the SDK', () => {
  const own = ended();
  const span = new RecordedSpan(
    { resource, instrumentationScope, ids, processor: own.processor },
    'GET',
    SpanKind.SERVER,
    { 'url.scheme': 'http' },
    undefined,
  );
  span.rename('GET /things');
  span.set('http.response.status_code', 500);
  span.end('500');
  span.end();

  const sdk = ended();
  const processor = { ...sdk.processor, onStart() {}, shutdown: async () => {}, forceFlush: async () => {} };
  const provider = new TracerProvider({ resource, sampler: new AlwaysOnSampler(), spanProcessors: [processor] });
  const other = provider
    .getTracer('commonplace', '1')
    .startSpan('GET', { kind: SpanKind.SERVER, attributes: { 'url.scheme': 'http' } }, context.active());
  other.updateName('GET /things');
  other.setAttribute('http.response.status_code', 500);
  other.setAttribute('error.type', '500');
  other.setStatus({ code: SpanStatusCode.ERROR });
  other.end();

  const [one] = own.spans as [ReadableSpan];
  const [two] = sdk.spans as [ReadableSpan];
  expect(own.spans).toHaveLength(1);
  expect(facts(one)).toEqual(facts(two));
  expect(one.instrumentationScope).toMatchObject(instrumentationScope);
  expect(Math.abs(ms(one.startTime) - ms(two.startTime))).toBeLessThan(1000);
  expect(ms(one.endTime) - ms(one.startTime)).toBeCloseTo(ms(one.duration), 2);
  expect(trace.isSpanContextValid(one.spanContext())).toBe(true);
  expect(one.parentSpanContext).toBeUndefined();
});

test('a recorded span is a child of its parent, and a clock that is set does not change its end', () => {
  const { spans, processor } = ended();
  const origin = { resource, instrumentationScope, ids, processor };
  const parent = new RecordedSpan(origin, 'parent', SpanKind.SERVER, {}, undefined);
  const child = new RecordedSpan(origin, 'child', SpanKind.INTERNAL, {}, parent);
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
  try {
    child.end();
    const later = new RecordedSpan(origin, 'later', SpanKind.INTERNAL, {}, parent);
    expect(ms(later.startTime) - ms(child.startTime)).toBeGreaterThan(3_500_000);
  } finally {
    clock.mockRestore();
  }
  const [first] = spans as [ReadableSpan];
  expect(first.parentSpanContext).toMatchObject({ traceId: parent.traceId, spanId: parent.spanId });
  expect(ms(first.duration)).toBeLessThan(60_000);
  expect(ms(first.endTime) - ms(first.startTime)).toBeLessThan(60_000);
});

test('an exporter reads the links of a recorded span', () => {
  const { spans, processor } = ended();
  const origin = { resource, instrumentationScope, ids, processor };
  const cause = { traceId: ids.generateTraceId(), spanId: ids.generateSpanId() };
  new RecordedSpan(origin, 'embed entries', SpanKind.INTERNAL, {}, undefined, [cause]).end();
  expect(spans[0]?.links).toEqual([{ context: { ...cause, traceFlags: 1 } }]);
  expect(spans[0]?.spanContext().traceId).not.toBe(cause.traceId);
});
