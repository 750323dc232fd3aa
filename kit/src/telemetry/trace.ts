import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, AttributeValue } from './instruments.js';

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

/** A span of a sampled request; other requests have no spans. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /**
   * Trace context (W3C) to pass on to what this span causes: a `traceparent`, and behind a semicolon the `tracestate` of
   * the trace if it has one. `traceHeaders` returns it as headers.
   */
  readonly traceparent: string;
  rename(name: string): void;
  set(name: string, value: AttributeValue): void;
  /** Ends the span; `failure` is the kind of error, a code and not a message. */
  end(failure?: string): void;
}

/** Position of a span in a trace, in this or another process. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
  /** The `tracestate` that other systems have added. */
  readonly tracestate?: string | undefined;
}

/** Creates and exports spans; there is no tracer if tracing is off. */
export interface Tracer {
  /** Starts a span, as the first of a new trace without a parent; `links` are other spans that caused it. */
  start(
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    parent: SpanPlace | undefined,
    links?: readonly SpanPlace[],
  ): Span;
  /** Returns whether to sample a request from outside. */
  samples(): boolean;
}

/**
 * Telemetry that is active in this process. Instrumented code checks it first, and does nothing else if both are off.
 */
export const signals: {
  /** Whether metrics are read. */
  measuring: boolean;
  tracer: Tracer | undefined;
  /** Whether trace contexts are read from requests of clients, and written to requests to other systems. */
  propagating: boolean;
} = { measuring: false, tracer: undefined, propagating: true };

const current = new AsyncLocalStorage<Span | undefined>();
/**
 * Number of operations that run within spans. While it is 0 the storage is disabled: on Node 20 it makes every promise
 * of a process more expensive.
 */
let entered = 0;

/** Returns the span in which this code runs; undefined if its request is not sampled. */
export function currentSpan(): Span | undefined {
  return signals.tracer === undefined ? undefined : current.getStore();
}

/** Runs work within a span. Work that it starts without waiting for it may belong to the span or to none. */
export function within<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  if (span === undefined) return work();
  entered++;
  const done = current.run(span, work);
  done.then(leave, leave);
  return done;
}

function leave(): void {
  entered--;
  if (entered === 0) current.disable();
}

/** Runs synchronous work within a span, and whatever it waits for. */
export function entering<T>(span: Span | undefined, work: () => T): T {
  entered++;
  const done = current.run(span, work);
  if (done instanceof Promise) done.then(leave, leave);
  else leave();
  return done;
}

/** Runs work outside of any span, because what it starts outlives the request that happens to start it. */
export function outside<T>(work: () => T): T {
  return currentSpan() === undefined ? work() : current.run(undefined, work);
}

/**
 * Starts a child of the current span, or of the span in the call's trace context if there is no current one; undefined
 * if the request is not sampled.
 */
export function childSpan(
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  traceparent?: string,
): Span | undefined {
  const { tracer } = signals;
  if (tracer === undefined) return undefined;
  const parent = current.getStore();
  return parent === undefined
    ? continuedSpan(traceparent, name, kind, attributes)
    : tracer.start(name, kind, attributes, parent);
}

/** Starts a child of a span from another process or time, if that is sampled. */
export function continuedSpan(
  traceparent: string | undefined,
  name: string,
  kind: SpanKind,
  attributes: Attributes,
): Span | undefined {
  const { tracer } = signals;
  if (tracer === undefined || traceparent === undefined) return undefined;
  const parent = readTraceparent(traceparent);
  return parent?.sampled === true ? tracer.start(name, kind, attributes, parent) : undefined;
}

/** The trace that a request from outside claims to belong to. */
interface GivenTrace {
  readonly traceparent: string | undefined;
  /** Whether the sampled flag of the request decides; otherwise the ratio does, as for a request without a trace. */
  readonly clientDecides: boolean;
}

/**
 * Starts the first span of a request from outside, if the request is sampled, as a child of the client's span if the
 * request names one.
 */
export function headSpan(
  { traceparent, clientDecides }: GivenTrace,
  name: string,
  kind: SpanKind,
  attributes: () => Attributes,
): Span | undefined {
  const { tracer } = signals;
  if (tracer === undefined) return undefined;
  const parent = traceparent === undefined ? undefined : readTraceparent(traceparent);
  const sampled = parent !== undefined && clientDecides ? parent.sampled : tracer.samples();
  return sampled ? tracer.start(name, kind, attributes(), parent) : undefined;
}

/** Runs work on behalf of an earlier request, as a span of its trace if that was sampled. */
export async function continuing<T>(
  traceparent: string | undefined,
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  const span = continuedSpan(traceparent, name, 'internal', attributes);
  return span === undefined ? outside(work) : ending(span, work);
}

/** Maximum number of spans that one span links to. */
const MAX_LINKS = 128;

/**
 * Runs work on behalf of several earlier requests in one span, which starts a new trace and links to each of their
 * spans. There is no span if none of them was sampled.
 */
export async function continuingAll<T>(
  traceparents: readonly string[],
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  const places = traceparents.map(readTraceparent).filter((place) => place?.sampled === true) as SpanPlace[];
  const { tracer } = signals;
  if (tracer === undefined || places.length === 0) return outside(work);
  return ending(tracer.start(name, 'internal', attributes, undefined, places.slice(0, MAX_LINKS)), work);
}

/** Runs work within a span, and ends the span with it. */
async function ending<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const done = await within(span, work);
    span.end();
    return done;
  } catch (error) {
    span.end(failureOf(error));
    throw error;
  }
}

/** Returns the trace context to store with work that is done later, so that it belongs to this trace. */
export function traceparentNow(): string | undefined {
  return currentSpan()?.traceparent;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;
/** Maximum length of a `traceparent`; no version so far defines longer ones. */
const MAX_TRACEPARENT_CHARS = 128;

/** Parses a trace context; returns undefined if its `traceparent` is invalid. */
export function readTraceparent(context: string): (SpanPlace & { readonly sampled: boolean }) | undefined {
  const { traceparent = '', tracestate } = traceHeaders(context);
  const [, traceId, spanId, flags] =
    (traceparent.length <= MAX_TRACEPARENT_CHARS && TRACEPARENT.exec(traceparent)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const place = { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
  return tracestate === undefined ? place : { ...place, tracestate };
}

/** Headers of a trace context, as the W3C names them. */
interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

export function traceHeaders(context: string | undefined): TraceHeaders {
  if (context === undefined) return {};
  const at = context.indexOf(';');
  return at < 0 ? { traceparent: context } : { traceparent: context.slice(0, at), tracestate: context.slice(at + 1) };
}

/** Limits within which the specification requires every system to propagate a `tracestate`. */
const [MAX_STATE_CHARS, MAX_STATE_MEMBERS] = [512, 32];
const STATE_MEMBER = /^[a-z0-9][-a-z0-9_*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Returns the trace context of these headers. An invalid `tracestate` is dropped; the `traceparent` is kept. */
export function traceContext(traceparent: string | undefined, tracestate: string | undefined): string | undefined {
  if (traceparent === undefined || traceparent.includes(';')) return undefined;
  const members = (tracestate ?? '').split(',').map((member) => member.trim());
  const kept = members.filter((member) => member !== '');
  const isValid = kept.length <= MAX_STATE_MEMBERS && kept.every((member) => STATE_MEMBER.test(member));
  const text = kept.join();
  return isValid && text !== '' && text.length <= MAX_STATE_CHARS ? `${traceparent};${text}` : traceparent;
}

/** Returns the trace fields of a request for a log line: the trace id always, the span id if the request is sampled. */
export function traceFields(traceparent: string | undefined): { trace_id?: string; span_id?: string } {
  const place = traceparent === undefined ? undefined : readTraceparent(traceparent);
  if (place === undefined) return {};
  return place.sampled ? { trace_id: place.traceId, span_id: place.spanId } : { trace_id: place.traceId };
}

/** Returns the fields of a log line of the current request, if it is traced. */
export function currentTraceFields(): object {
  const span = currentSpan();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
}

/** Returns how an error is reported in signals: by its code or name, never by its message. */
export function failureOf(error: unknown): string {
  const { reason, code, name } = error as { reason?: unknown; code?: unknown; name?: unknown };
  return String(reason || code || name || 'error');
}
