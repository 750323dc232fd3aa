import type { Caller } from '../auth/index.js';
import { type AppError, asAppError, isOutOfFiles } from '../errors/index.js';
import type { Collection } from '../store/port.js';
import { type Span, traceFields, within } from '../telemetry/trace.js';
import { admit } from './admit.js';
import { Run } from './context.js';
import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from './idempotency.js';
import { factsOf } from './methods.js';
import { withOwnCursors } from './own-cursors.js';
import type { CallContext, Handlers, IncomingCall, MethodDefinition, ServedMethod, ServiceContract } from './port.js';
import { commitError, commitRun, contextOf, runInWork, spaceFor } from './run-in-work.js';
import { runOnce } from './run-once.js';
import type { ServerParts, Unary } from './server-parts.js';
import { observeServed, streamWithin } from './telemetry.js';

type Streaming = (request: unknown, context: CallContext) => AsyncIterable<unknown>;

/**
 * Wraps handlers in what all calls share: verification of peer and caller, deadline, one unit of work with its retries,
 * idempotency, errors. A call passes them in the order of the code below.
 */
export async function serveMethods<S>(
  contract: ServiceContract<S>,
  handlers: Handlers<S>,
  parts: ServerParts,
): Promise<Map<string, ServedMethod>> {
  const outcomes = await parts.store.collection(IDEMPOTENCY_COLLECTION);
  const served = new Map<string, ServedMethod>();
  for (const [name, method] of Object.entries(contract.definition)) {
    const handler = (handlers as Record<string, unknown>)[name];
    if (typeof handler !== 'function') throw new Error(`${contract.name} has no handler for ${name}`);
    served.set(method.path, {
      streams: method.responseStream,
      unary: serveUnary(method, withOwnCursors(method, handler as Unary), outcomes, parts),
      stream: serveStream(method, handler as Streaming, parts),
    });
  }
  return served;
}

function serveUnary(
  method: MethodDefinition,
  handler: Unary,
  outcomes: Collection<IdempotencyRecord>,
  parts: ServerParts,
): ServedMethod['unary'] {
  const running = new Set<string>();
  const run = (request: unknown, call: IncomingCall, caller: Caller | undefined): Promise<unknown> =>
    call.metadata.idempotency === undefined
      ? runInWork(handler, request, call, caller, parts, spaceFor(method, parts))
      : runOnce(method, handler, request, call, caller, outcomes, running, parts);

  const facts = factsOf(method.path);
  const serve = (request: unknown, call: IncomingCall): Promise<unknown> => {
    const admitted = admit(call, method.path, facts, parts);
    // Most tokens are verified already; then this stays synchronous.
    return admitted instanceof Promise
      ? admitted.then((caller) => run(request, call, caller))
      : run(request, call, admitted);
  };

  const observe = observeServed(method.path);
  return async (request, call) => {
    const observed = observe(call);
    try {
      const answer = await (observed?.span === undefined
        ? serve(request, call)
        : within(observed.span, async () => serve(request, call)));
      observed?.done();
      return answer;
    } catch (thrown) {
      const error = reported(thrown, method.path, call, parts, observed?.span);
      observed?.done(error);
      throw error;
    }
  };
}

function serveStream(method: MethodDefinition, handler: Streaming, parts: ServerParts): ServedMethod['stream'] {
  const facts = factsOf(method.path);
  const serve: ServedMethod['stream'] = async function* (request, call) {
    const caller = await admit(call, method.path, facts, parts);
    const run = new Run(parts.store.begin);
    yield* handler(request, contextOf(call, caller, run, parts));
    // If the reader stops, the call is cancelled or the handler throws, control does not reach this line, and nothing
    // is committed.
    await commitRun(run, call, spaceFor(method, parts)).catch((error) => {
      // The reader has its messages already, so the handler cannot run again as that of a unary call does.
      throw commitError(error);
    });
  };

  const observe = observeServed(method.path);
  return async function* (request, call) {
    const observed = observe(call);
    let error: AppError | undefined;
    try {
      yield* streamWithin(observed?.span, serve(request, call));
    } catch (thrown) {
      error = reported(thrown, method.path, call, parts, observed?.span);
      throw error;
    } finally {
      observed?.done(error);
    }
  };
}

/**
 * Returns the error to send: an AppError as it is, any other as `asAppError` converts it. What operators have to know is
 * logged with its cause.
 */
function reported(
  thrown: unknown,
  path: string,
  call: IncomingCall,
  { log }: ServerParts,
  span: Span | undefined,
): AppError {
  const error = asAppError(thrown);
  if (error.code === 'INTERNAL' || isOutOfFiles(thrown)) {
    const { requestId } = call.metadata;
    const trace = traceFields(span?.traceparent);
    log.error('rpc.failed', { ...trace, method: path, request_id: requestId, error: error.cause ?? error });
  }
  return error;
}
