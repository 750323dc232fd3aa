import { AppError } from '../errors/index.js';
import { CALL_SECONDS } from '../telemetry/buckets.js';
import { type Attributes, counter, histogram, type Recorder } from '../telemetry/instruments.js';
import { childSpan, continuedSpan, currentSpan, failureOf, type Span, signals, within } from '../telemetry/trace.js';
import { AlongWith } from './call-options.js';
import type { CallOptions, IncomingCall } from './port.js';

const served = histogram('rpc.server.call.duration', 's', 'Duration of calls that were served.', CALL_SECONDS);
const sent = histogram('rpc.client.call.duration', 's', 'Duration of calls to another process.', CALL_SECONDS);

/** Counts responses that were replayed for a repeated Idempotency-Key. */
export const replays = counter(
  'idempotency.replays',
  '{request}',
  'Writes answered by what the first of their Idempotency-Key was answered.',
);

/** Returns the outcome of a call as a gRPC status. */
function statusOf(error: unknown): string {
  return error instanceof AppError ? error.code : 'UNKNOWN';
}

/** Codes that indicate a fault of the server, as opposed to one of the call. */
const FAULTS: ReadonlySet<string> = new Set(['UNKNOWN', 'INTERNAL', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'DATA_LOSS']);

interface Method {
  readonly attributes: Attributes;
  readonly name: string;
  recorder(status: string): Recorder;
}

/** Returns the telemetry of a method. `path` has the form `/commonplace.resources.v1.ResourceService/GetResource`. */
function methodOf(path: string, system: string, durations: typeof served): Method {
  const name = path.slice(1);
  const attributes = { 'rpc.system.name': system, 'rpc.method': name };
  const recorders = new Map<string, Recorder>();
  return {
    name,
    attributes,
    recorder(status) {
      let known = recorders.get(status);
      if (known === undefined) {
        const error: Attributes = FAULTS.has(status) ? { 'error.type': status } : {};
        known = durations.bind({ ...attributes, 'rpc.response.status_code': status, ...error });
        recorders.set(status, known);
      }
      return known;
    },
  };
}

function done(method: Method, span: Span | undefined, started: number, error?: unknown): void {
  const status = error === undefined ? 'OK' : statusOf(error);
  if (signals.measuring) method.recorder(status).record((performance.now() - started) / 1000);
  if (span === undefined) return;
  span.set('rpc.response.status_code', status);
  span.end(FAULTS.has(status) ? failureOf(error) : undefined);
}

/** A call that is being served, until it is answered. */
class ServedCall {
  readonly #started = performance.now();

  constructor(
    private readonly method: Method,
    readonly span: Span | undefined,
  ) {}

  /** Records the end of the call; for a failure with the error that its caller receives. */
  done(error?: unknown): void {
    done(this.method, this.span, this.#started, error);
  }
}

/**
 * Returns a function that starts to observe a call of the method at `path`, or returns undefined if nothing is
 * collected. A call within the process continues in its caller's span, without a client span.
 */
export function observeServed(path: string): (call: IncomingCall) => ServedCall | undefined {
  const local = methodOf(path, 'local', served);
  const remote = methodOf(path, 'grpc', served);
  return (call) => {
    if (!signals.measuring && signals.tracer === undefined) return undefined;
    const { traceparent } = call.metadata;
    return call.remote
      ? new ServedCall(remote, continuedSpan(traceparent, remote.name, 'server', remote.attributes))
      : new ServedCall(local, childSpan(local.name, 'internal', local.attributes, traceparent));
  };
}

/** Returns the messages of a stream whose handler runs within a span. */
export async function* streamWithin(span: Span | undefined, stream: AsyncIterable<unknown>): AsyncIterable<unknown> {
  const messages = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await within(span, () => messages.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await messages.return?.();
  }
}

type UnaryCall = (request: unknown, options: CallOptions) => Promise<unknown>;

/** Wraps a unary call to another process with telemetry, and passes on its span. */
export function observeCalled(path: string, call: UnaryCall): UnaryCall {
  const method = methodOf(path, 'grpc', sent);
  return (request, options) => {
    if (!signals.measuring && signals.tracer === undefined) return call(request, options);
    const started = performance.now();
    const span = childSpan(method.name, 'client', method.attributes, options.metadata.traceparent);
    const answer = call(request, span === undefined ? options : traced(options, span));
    answer.then(
      () => done(method, span, started),
      (error) => done(method, span, started, error),
    );
    return answer;
  };
}

/** Returns the options of a streaming call with the current span. */
export function tracedOptions(options: CallOptions): CallOptions {
  const span = currentSpan();
  return span === undefined ? options : traced(options, span);
}

function traced(options: CallOptions, { traceparent }: Span): CallOptions {
  const { metadata, deadline, reply } = options;
  return new AlongWith(options, { ...metadata, traceparent }, deadline, reply);
}
