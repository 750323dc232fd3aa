import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, AttributeValue } from './instruments.js';

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

/** A span of a request that is sampled; for the others there is none. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** What goes on from here says where it came from by this (W3C Trace Context). */
  readonly traceparent: string;
  rename(name: string): void;
  set(name: string, value: AttributeValue): void;
  /** Ends it; `failure` is the kind of what went wrong, a code rather than a message. */
  end(failure?: string): void;
}

/** Where a span hangs: another one, or one of another process. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
}

/** Makes spans and carries them away; there is none where tracing is off. */
export interface Tracer {
  start(name: string, kind: SpanKind, attributes: Attributes, parent: SpanPlace | undefined): Span;
  /** Decides for a request that comes without a trace. */
  samples(): boolean;
}

/** What this process does of signals; edges look here first, and do nothing else where both are off. */
export const signals: {
  /** Whether somebody reads what is measured. */
  measuring: boolean;
  tracer: Tracer | undefined;
} = { measuring: false, tracer: undefined };

const current = new AsyncLocalStorage<Span | undefined>();
/** What runs within spans. While nothing does the storage is off: on Node 20 it makes each promise of a process dearer. */
let entered = 0;

/** The span within which this code runs; undefined where its request is not sampled. */
export function currentSpan(): Span | undefined {
  return signals.tracer === undefined ? undefined : current.getStore();
}

/** Runs work within a span; what the work begins and does not wait for may belong to it or to none. */
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

/** Runs work outside of any span: what it begins outlives the request that happens to begin it. */
export function outside<T>(work: () => T): T {
  return currentSpan() === undefined ? work() : current.run(undefined, work);
}

/** A span below the one that runs, or where none does below what its call came with; undefined where nothing is sampled. */
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

/** A span below one of another process or time, if that is sampled. */
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

/** The first span of a request from outside: below the client's where that is sampled, else by the ratio. */
export function headSpan(
  traceparent: string | undefined,
  name: string,
  kind: SpanKind,
  attributes: () => Attributes,
): Span | undefined {
  const { tracer } = signals;
  if (tracer === undefined) return undefined;
  const parent = traceparent === undefined ? undefined : readTraceparent(traceparent);
  if (parent === undefined ? !tracer.samples() : !parent.sampled) return undefined;
  return tracer.start(name, kind, attributes(), parent);
}

/** Runs work on behalf of an earlier request, as a span of its trace if that was sampled. */
export async function continuing<T>(
  traceparent: string | undefined,
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  const span = continuedSpan(traceparent, name, 'internal', attributes);
  if (span === undefined) return outside(work);
  try {
    const done = await within(span, work);
    span.end();
    return done;
  } catch (error) {
    span.end(failureOf(error));
    throw error;
  }
}

/** What to keep with work that is done later, so that it belongs to this trace. */
export function traceparentNow(): string | undefined {
  return currentSpan()?.traceparent;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;
/** Longer ones have what no version so far has. */
const MOST_CHARS = 128;

/** Reads a `traceparent`; undefined where it is none. */
export function readTraceparent(text: string): (SpanPlace & { readonly sampled: boolean }) | undefined {
  const [, traceId, spanId, flags] = (text.length <= MOST_CHARS && TRACEPARENT.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** What a line of a log says of the trace that its request goes on with, where that is sampled. */
export function traceFields(traceparent: string | undefined): { trace_id?: string; span_id?: string } {
  const place = traceparent === undefined ? undefined : readTraceparent(traceparent);
  return place?.sampled === true ? { trace_id: place.traceId, span_id: place.spanId } : {};
}

/** What is said of an error in signals: its code or its name, never its message. */
export function failureOf(error: unknown): string {
  const { reason, code, name } = error as { reason?: unknown; code?: unknown; name?: unknown };
  return String(reason || code || name || 'error');
}
