// Bridges OpenTelemetry's global API to the spans of this program, so that spans of libraries join its traces and are
// current while the libraries work.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  type ContextManager,
  context,
  type Span as ForeignSpan,
  INVALID_SPAN_CONTEXT,
  type Link,
  type MeterProvider,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  type TimeInput,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import type { AttributeValue } from './instruments.js';
import type { OtelSettings } from './otel-settings.js';
import { currentSpan, entering, type Span, type SpanKind, type SpanPlace, signals } from './trace.js';

const KINDS: readonly SpanKind[] = ['internal', 'server', 'client', 'producer', 'consumer'];

/** A span of this program as libraries see it. */
class BridgedSpan implements ForeignSpan {
  #failure: string | undefined;
  #isOpen = true;

  constructor(readonly span: Span) {}

  spanContext(): SpanContext {
    const { traceId, spanId } = this.span;
    return { traceId, spanId, traceFlags: 1 };
  }

  setAttribute(key: string, value: unknown): this {
    if (value !== undefined && value !== null) this.span.set(key, simple(value));
    return this;
  }

  setAttributes(attributes: Readonly<Record<string, unknown>>): this {
    for (const [key, value] of Object.entries(attributes)) this.setAttribute(key, value);
    return this;
  }

  setStatus({ code }: { readonly code: SpanStatusCode }): this {
    this.#failure = code === SpanStatusCode.ERROR ? 'error' : undefined;
    return this;
  }

  updateName(name: string): this {
    this.span.rename(name);
    return this;
  }

  recordException(exception: unknown): void {
    const { name } = exception as { name?: unknown };
    this.span.set('exception.type', typeof name === 'string' ? name : 'error');
  }

  end(_time?: TimeInput): void {
    this.#isOpen = false;
    this.span.end(this.#failure);
  }

  isRecording(): boolean {
    return this.#isOpen;
  }

  /** Ignores events and later links, because their texts may contain what users wrote. */
  addEvent(): this {
    return this;
  }

  addLink(_link: Link): this {
    return this;
  }

  addLinks(_links: readonly Link[]): this {
    return this;
  }
}

function simple(value: unknown): AttributeValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : JSON.stringify(value);
}

const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/** Starts spans for libraries: children of the current span, and none where the request is not sampled. */
const tracer: Tracer = {
  startSpan(name: string, options: SpanOptions = {}, where: Context = context.active()): ForeignSpan {
    const { tracer: own } = signals;
    const parent = options.root === true ? undefined : placeOf(trace.getSpan(where));
    if (own === undefined || parent === undefined) return NO_SPAN;
    const links = (options.links ?? []).map(({ context: { traceId, spanId } }) => ({ traceId, spanId }));
    const span = new BridgedSpan(own.start(name, KINDS[options.kind ?? 0] ?? 'internal', {}, parent, links));
    return span.setAttributes(options.attributes ?? {});
  },
  startActiveSpan(name: string, ...rest: unknown[]) {
    const work = rest.pop() as (span: ForeignSpan) => unknown;
    const [options, where = context.active()] = rest as [SpanOptions?, Context?];
    const span = tracer.startSpan(name, options, where);
    return context.with(trace.setSpan(where, span), () => work(span)) as never;
  },
};

function placeOf(span: ForeignSpan | undefined): SpanPlace | undefined {
  if (span instanceof BridgedSpan) return span.span;
  const place = span?.spanContext();
  return place !== undefined && (place.traceFlags & 1) === 1 && trace.isSpanContextValid(place) ? place : undefined;
}

/** Contexts of libraries, in which the current span of this program is the active one. */
class BridgedContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    const stored = this.#storage.getStore() ?? ROOT_CONTEXT;
    const span = currentSpan();
    const known = trace.getSpan(stored);
    if (span === undefined || (known instanceof BridgedSpan && known.span === span)) return stored;
    return trace.setSpan(stored, new BridgedSpan(span));
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    where: Context,
    work: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const span = trace.getSpan(where);
    const run = () => this.#storage.run(where, () => work.apply(self, args) as ReturnType<F>);
    return span instanceof BridgedSpan ? entering(span.span, run) : run();
  }

  bind<T>(where: Context, target: T): T {
    if (typeof target !== 'function') return target;
    const bound = (...args: unknown[]) => this.with(where, () => target(...args));
    return bound as T;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}

/** Registers the bridge as the global API of this process. Returns a function that removes it. */
export function registerGlobalApi(
  { tracecontext, baggage }: Pick<OtelSettings, 'tracecontext' | 'baggage'>,
  meters: MeterProvider,
): () => void {
  const contexts = new BridgedContexts();
  context.setGlobalContextManager(contexts);
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  metrics.setGlobalMeterProvider(meters);
  const propagators = [
    ...(tracecontext ? [new W3CTraceContextPropagator()] : []),
    ...(baggage ? [new W3CBaggagePropagator()] : []),
  ];
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
  return () => {
    contexts.disable();
    for (const api of [context, trace, metrics, propagation]) api.disable();
  };
}
