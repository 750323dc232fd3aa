import type { MethodDefinition } from '@grpc/grpc-js';
import type { Caller, PeerTokens, TokenVerifier } from '../auth/index.js';
import { AppError, asAppError, Timeout, Unavailable, VersionConflict } from '../errors/index.js';
import type { Log } from '../log/index.js';
import { type Collection, LostRace, type Store, UniqueTaken, type UnitOfWork } from '../store/port.js';
import { observeServed, replays, streamWithin } from '../telemetry/rpc.js';
import { type Span, traceFields, within } from '../telemetry/trace.js';
import { Context, Run } from './context.js';
import { isGivenUp } from './given-up.js';
import {
  IDEMPOTENCY_COLLECTION,
  type IdempotencyRecord,
  isLastingError,
  keyInProgress,
  keyReused,
  recordOfAnswer,
  recordOfError,
  replay,
} from './idempotency.js';
import type { CallContext, Handlers, IncomingCall, ServedMethod, ServiceContract } from './port.js';
import { createTurns, type Turn } from './turns.js';

export interface ServerParts {
  readonly service: string;
  readonly store: Store;
  readonly verifyCaller: TokenVerifier;
  readonly peers: PeerTokens;
  readonly log: Log;
}

type Unary = (request: unknown, context: CallContext) => Promise<unknown>;
type Streaming = (request: unknown, context: CallContext) => AsyncIterable<unknown>;

const replayed = replays.bind();

/** How often a handler runs when others keep changing what it read. */
const MAX_RUNS = 12;
/** How often it runs when a value that has to be unique was taken. */
const MAX_LOOKS = 3;

/**
 * Wraps handlers in what all calls share: verified peer and caller, deadline, one unit of work with
 * its retries, idempotency, errors. The order below is the order in which a call passes them.
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
      unary: serveUnary(method, handler as Unary, outcomes, parts),
      stream: serveStream(method, handler as Streaming, parts),
    });
  }
  return served;
}

function serveUnary(
  method: MethodDefinition<unknown, unknown>,
  handler: Unary,
  outcomes: Collection<IdempotencyRecord>,
  parts: ServerParts,
): ServedMethod['unary'] {
  const running = new Set<string>();
  const run = (request: unknown, call: IncomingCall, caller: Caller | undefined): Promise<unknown> =>
    call.metadata.idempotency === undefined
      ? runInWork(handler, request, call, caller, parts)
      : runOnce(method, handler, request, call, caller, outcomes, running, parts);

  const serve = (request: unknown, call: IncomingCall): Promise<unknown> => {
    const admitted = admit(call, parts);
    // Most tokens are known, and what need not be waited for is not.
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

function serveStream(
  method: MethodDefinition<unknown, unknown>,
  handler: Streaming,
  parts: ServerParts,
): ServedMethod['stream'] {
  const serve: ServedMethod['stream'] = async function* (request, call) {
    const caller = await admit(call, parts);
    yield* handler(request, contextOf(call, caller, new Run(parts.store.begin), parts));
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

/** Believes nothing: the peer by its token, the caller by theirs, and no call without a deadline. */
function admit(call: IncomingCall, parts: ServerParts): Caller | undefined | Promise<Caller> {
  parts.peers.verify(call.peerToken);
  if (!Number.isFinite(call.deadline)) {
    throw new AppError('INVALID_ARGUMENT', 'deadline_missing', 'A call needs a deadline.');
  }
  if (call.deadline <= Date.now()) throw Timeout();
  return call.metadata.token === undefined ? undefined : parts.verifyCaller(call.metadata.token);
}

/** What leaves the service: AppErrors as they are, the unknown as `internal_error`, logged with its cause. */
function reported(
  thrown: unknown,
  path: string,
  call: IncomingCall,
  { log }: ServerParts,
  span: Span | undefined,
): AppError {
  const error = asAppError(thrown);
  if (error.code === 'INTERNAL') {
    const { requestId } = call.metadata;
    const trace = traceFields(span?.traceparent);
    log.error('rpc.failed', { ...trace, method: path, request_id: requestId, error: error.cause ?? error });
  }
  return error;
}

/** Runs the handler and commits what it wrote; runs it again when another was faster. */
async function runInWork(
  handler: Unary,
  request: unknown,
  call: IncomingCall,
  caller: Caller | undefined,
  parts: ServerParts,
  finish?: (work: UnitOfWork, answer: unknown, secrets: ReadonlySet<string>) => void,
): Promise<unknown> {
  let turn: Turn | undefined;
  try {
    for (let tries = 1; ; tries++) {
      const run = new Run(parts.store.begin);
      const answer = await handler(request, contextOf(call, caller, run, parts));
      finish?.(run.work, answer, run.secrets);
      if (!run.worked || !run.work.dirty) return answer;
      if (call.deadline <= Date.now() || isGivenUp(call)) throw Timeout();
      try {
        await run.work.commit();
      } catch (error) {
        if (!isWorthAnotherRun(error, tries)) throw commitError(error);
        turn = await nextTurn(turn, error, parts);
        await pause(tries);
        if (call.deadline > Date.now()) continue;
        throw commitError(error);
      }
      for (const effect of run.effects) effect();
      return answer;
    }
  } finally {
    turn?.end();
  }
}

const turns = createTurns();
/** Milliseconds that a call waits for others of its process which have lost the same race before it. */
const TURN_MS = 5_000;

/** The row of the record over which a race was lost: the one that the call stands in already, or another. */
async function nextTurn(held: Turn | undefined, error: unknown, { service }: ServerParts): Promise<Turn | undefined> {
  if (!(error instanceof LostRace)) return held;
  const key = `${service}/${error.collection}/${error.id}`;
  if (held?.key === key) return held;
  held?.end();
  return turns.take(key, TURN_MS);
}

function contextOf(call: IncomingCall, caller: Caller | undefined, run: Run, { service }: ServerParts): CallContext {
  return new Context(service, caller, call, run);
}

/** A value may have been taken since the handler looked: it looks again, and refuses it in its own words. */
function isWorthAnotherRun(error: unknown, tries: number): boolean {
  return error instanceof LostRace ? tries < MAX_RUNS : error instanceof UniqueTaken && tries <= MAX_LOOKS;
}

function pause(tries: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** tries, 100)));
}

function commitError(error: unknown): unknown {
  if (error instanceof LostRace) {
    return Unavailable({}, { retryAfter: 1, cause: error });
  }
  if (error instanceof UniqueTaken) {
    return new AppError('ALREADY_EXISTS', 'already_exists', `This ${error.field} is taken.`, { cause: error });
  }
  return error;
}

/** The handler's first outcome under an Idempotency-Key, or that outcome again. */
async function runOnce(
  method: MethodDefinition<unknown, unknown>,
  handler: Unary,
  request: unknown,
  call: IncomingCall,
  caller: Caller | undefined,
  outcomes: Collection<IdempotencyRecord>,
  running: Set<string>,
  parts: ServerParts,
): Promise<unknown> {
  const idempotency = call.metadata.idempotency as NonNullable<typeof call.metadata.idempotency>;
  const { requestId } = call.metadata;
  if (running.has(idempotency.id)) throw keyInProgress();
  running.add(idempotency.id);
  try {
    const known = await outcomes.get(idempotency.id);
    if (known !== undefined && known.expiresAt > new Date().toISOString()) {
      if (known.fingerprint !== idempotency.fingerprint) throw keyReused();
      await askGates(handler, request, call, caller, parts, method);
      replayed.add();
      return method.responseDeserialize(replay(known, call.reply));
    }
    const keep = (work: UnitOfWork, record: Omit<IdempotencyRecord, 'version'>) => {
      if (known === undefined) work.insert(outcomes, record);
      else work.replace(outcomes, known, record);
    };
    try {
      return await runInWork(handler, request, call, caller, parts, (work, answer, secrets) => {
        const kept = secrets.size === 0 ? answer : without(answer as Record<string, unknown>, secrets);
        keep(work, recordOfAnswer(idempotency, requestId, method.responseSerialize(kept), call.reply, secrets));
      });
    } catch (error) {
      if (!(error instanceof AppError) || !isLastingError(error)) throw error;
      const work = parts.store.begin();
      keep(work, recordOfError(idempotency, requestId, error));
      await work.commit();
      throw error;
    }
  } finally {
    running.delete(idempotency.id);
  }
}

/** An answer without some of its fields, each named by its path. */
function without(answer: Record<string, unknown>, fields: ReadonlySet<string>, prefix = ''): Record<string, unknown> {
  const left = Object.entries(answer).filter(([field, value]) => Array.isArray(value) || !fields.has(prefix + field));
  return Object.fromEntries(
    left.map(([field, value]) => {
      if (fields.has(prefix + field)) return [field, []];
      const path = `${prefix}${field}.`;
      const inside = [...fields].some((one) => one.startsWith(path));
      return [field, inside ? without((value ?? {}) as Record<string, unknown>, fields, path) : value];
    }),
  );
}

/** Thrown by the first write or effect of a run that only asks whether the caller is still admitted. */
class Admitted extends Error {}

/**
 * The gates run before a replay: the handler is run up to its first write, and what it refuses for
 * want of a role or of sight is refused again. What it deleted the first time is not there any more,
 * so a deletion's replay may miss its record.
 */
async function askGates(
  handler: Unary,
  request: unknown,
  call: IncomingCall,
  caller: Caller | undefined,
  parts: ServerParts,
  method: MethodDefinition<unknown, unknown>,
): Promise<void> {
  const stop = (): never => {
    throw new Admitted();
  };
  const begun = parts.store.begin();
  const work: UnitOfWork = {
    get: (from, id) => begun.get(from, id),
    insert: stop,
    replace: stop,
    remove: stop,
    expect: () => {},
    increment: stop,
    publish: stop,
    dirty: false,
    commit: async () => {},
  };
  const asked: IncomingCall = { ...call, signal: call.signal, reply: {} };
  const context = contextOf(asked, caller, new Run(() => work, stop), parts);
  try {
    await handler(request, context);
  } catch (error) {
    if (error instanceof Admitted || !(error instanceof AppError)) return;
    const deletes = /\/(Delete|Remove|Empty|Unpublish)\w*$/.test(method.path);
    if (error.code === 'PERMISSION_DENIED' || (error.code === 'NOT_FOUND' && !deletes)) throw error;
  }
}

/** Refuses a change whose precondition does not hold. `current` is what the record's version is now. */
export function requireVersion(
  context: CallContext,
  current: number,
  record: { readonly updatedBy?: unknown; readonly updatedAt?: string } = {},
): void {
  const { baseVersion } = context.metadata;
  if (baseVersion !== undefined && baseVersion !== current) {
    throw VersionConflict({
      current_version: current,
      updated_by: record.updatedBy ?? null,
      updated_at: record.updatedAt ?? null,
    });
  }
}
