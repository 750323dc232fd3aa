import {
  createTraceState,
  type SpanKind as Kind,
  type Link,
  type SpanContext,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
  type TraceState,
} from '@opentelemetry/api';
import type { IdGenerator, ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Attributes, AttributeValue } from './instruments.js';
import type { Span, SpanPlace } from './trace.js';

/** What all spans of a process have in common. */
export interface Origin extends Pick<ReadableSpan, 'resource' | 'instrumentationScope'> {
  readonly ids: IdGenerator;
  /** Receives the spans that have ended. */
  readonly processor: Pick<SpanProcessor, 'onEnd'>;
}

const NONE: never[] = [];
const UNSET: SpanStatus = { code: SpanStatusCode.UNSET };
const FAILED: SpanStatus = { code: SpanStatusCode.ERROR };

/**
 * A span of a sampled request, in the form that the SDK's processors and exporters read. The SDK's own span validates
 * and copies its input and creates a context, which takes four times as long; the input here comes only from this
 * program.
 */
export class RecordedSpan implements Span, ReadableSpan {
  readonly traceId: string;
  readonly spanId: string;
  status = UNSET;
  ended = false;
  readonly #origin: Origin;
  readonly #parentId: string | undefined;
  readonly tracestate: string | undefined;
  /** Start time in milliseconds since 1970, and by the monotonic clock. */
  readonly #began: number;
  readonly #started: number;
  #tookMs = 0;
  readonly #links: readonly SpanPlace[];
  readonly attributes: Record<string, AttributeValue>;

  constructor(
    origin: Origin,
    public name: string,
    readonly kind: Kind,
    attributes: Attributes,
    parent: SpanPlace | undefined,
    links: readonly SpanPlace[] = NONE,
  ) {
    this.#links = links;
    this.#origin = origin;
    this.attributes = { ...attributes };
    this.traceId = parent === undefined ? origin.ids.generateTraceId() : parent.traceId;
    this.spanId = origin.ids.generateSpanId();
    this.#parentId = parent?.spanId;
    this.tracestate = parent?.tracestate;
    this.#started = performance.now();
    this.#began = epochOf(this.#started);
  }

  get traceparent(): string {
    const own = `00-${this.traceId}-${this.spanId}-01`;
    return this.tracestate === undefined ? own : `${own};${this.tracestate}`;
  }

  rename(name: string): void {
    this.name = name;
  }

  set(name: string, value: AttributeValue): void {
    this.attributes[name] = value;
  }

  end(failure?: string): void {
    if (this.ended) return;
    if (failure !== undefined) {
      this.set('error.type', failure);
      this.status = FAILED;
    }
    this.#tookMs = performance.now() - this.#started;
    this.ended = true;
    this.#origin.processor.onEnd(this);
  }

  get traceFlags(): TraceFlags {
    return TraceFlags.SAMPLED;
  }

  get traceState(): TraceState | undefined {
    return this.tracestate === undefined ? undefined : createTraceState(this.tracestate);
  }

  spanContext(): SpanContext {
    return this;
  }

  get parentSpanContext(): SpanContext | undefined {
    const { traceId, traceFlags } = this;
    return this.#parentId === undefined ? undefined : { traceId, spanId: this.#parentId, traceFlags };
  }

  get startTime(): [number, number] {
    return hrTime(this.#began);
  }

  get endTime(): [number, number] {
    return hrTime(this.#began + this.#tookMs);
  }

  get duration(): [number, number] {
    return hrTime(this.#tookMs);
  }

  get resource(): ReadableSpan['resource'] {
    return this.#origin.resource;
  }

  get instrumentationScope(): ReadableSpan['instrumentationScope'] {
    return this.#origin.instrumentationScope;
  }

  get links(): Link[] {
    if (this.#links === NONE) return NONE;
    const { traceFlags } = this;
    return this.#links.map(({ traceId, spanId }) => ({ context: { traceId, spanId, traceFlags } }));
  }

  get events(): never[] {
    return NONE;
  }

  get droppedAttributesCount(): number {
    return 0;
  }

  get droppedEventsCount(): number {
    return 0;
  }

  get droppedLinksCount(): number {
    return 0;
  }
}

/** Converts milliseconds to OpenTelemetry's form of times: seconds and nanoseconds. */
function hrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
}

let epoch = performance.timeOrigin;

/**
 * Converts a time of `performance.now()` to milliseconds since 1970, with fractions. It follows the system clock when
 * that is set.
 */
function epochOf(now: number): number {
  const off = Date.now() - (epoch + now);
  if (off > 1 || off < -2) epoch += off;
  return epoch + now;
}
