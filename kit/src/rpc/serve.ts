import type { MethodFacts } from '@commonplace/proto/methods.js';
import type { Caller, PeerTokens, TokenVerifier } from '../auth/index.js';
import { isCancelled } from '../deadline/cancellation.js';
import { AppError, asAppError, isOutOfFiles, Timeout, Unavailable, VersionConflict } from '../errors/index.js';
import type { Log } from '../log/index.js';
import type { SpaceGuard } from '../space/index.js';
import { type Collection, LostRace, type Store, UniqueTaken, type UnitOfWork } from '../store/port.js';
import { type Span, traceFields, within } from '../telemetry/trace.js';
import { Context, Run } from './context.js';
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
import { factsOf, mayCall } from './methods.js';
import { withOwnCursors } from './own-cursors.js';
import type {
  CallContext,
  Handlers,
  IncomingCall,
  MethodDefinition,
  Reply,
  ServedMethod,
  ServiceContract,
} from './port.js';
import { observeServed, replays, streamWithin } from './telemetry.js';
import { createTurns, type Turn } from './turns.js';

export interface ServerParts {
  readonly service: string;
  readonly store: Store;
  readonly verifyCaller: TokenVerifier;
  readonly peers: PeerTokens;
  readonly log: Log;
  /** Disk space of the store. Writes are refused when it runs out, except those of methods that free space. */
  readonly space?: SpaceGuard | undefined;
}

type Unary = (request: unknown, context: CallContext) => Promise<unknown>;
type Streaming = (request: unknown, context: CallContext) => AsyncIterable<unknown>;

const replayed = replays.bind();

/** Maximum number of runs of a handler that keeps losing races. */
const MAX_RUNS = 12;
/** Maximum number of retries of a handler after a unique value was taken. */
const MAX_LOOKS = 3;

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
 * Returns the name of the calling process. A token that proves none means that the processes of an installation differ in
 * the mesh key or in their clocks. No client has caused that.
 */
function provenPeer(call: IncomingCall, path: string, { peers, log }: ServerParts): string {
  try {
    return peers.verify(call.peerToken);
  } catch (cause) {
    log.warn('rpc.peer_unproven', { method: path, request_id: call.metadata.requestId });
    throw Unavailable({}, { retryAfter: 1, cause });
  }
}

/**
 * Verifies the calling process by its peer token and the caller by the caller token. Refuses a process that the method
 * does not name, and a call without a deadline.
 */
function admit(
  call: IncomingCall,
  path: string,
  facts: MethodFacts,
  parts: ServerParts,
): Caller | undefined | Promise<Caller> {
  const peer = provenPeer(call, path, parts);
  // A service may call itself through its contract, so that the same checks apply to it as to any other caller.
  if (peer !== parts.service && !mayCall(facts, peer)) {
    parts.log.warn('rpc.peer_refused', { method: path, peer, request_id: call.metadata.requestId });
    throw new AppError('PERMISSION_DENIED', 'peer_not_allowed', `The process ${peer} may not call this method.`);
  }
  if (!Number.isFinite(call.deadline)) {
    throw new AppError('INVALID_ARGUMENT', 'deadline_missing', 'A call needs a deadline.');
  }
  if (call.deadline <= Date.now()) throw Timeout();
  if (call.metadata.token === undefined) return undefined;
  const caller = parts.verifyCaller(call.metadata.token);
  return caller instanceof Promise ? caller.then((known) => withScope(known, facts)) : withScope(caller, facts);
}

/**
 * Returns the caller. Throws `insufficient_scope` for an agent without a scope of the method: calls of agents do not
 * pass through the gateway, which checks the scopes of all other callers.
 */
function withScope(caller: Caller, { scopes }: MethodFacts): Caller {
  if (caller.agent === undefined || scopes.length === 0) return caller;
  const held = caller.credential.scopes;
  if (scopes.some((scope) => held.includes(scope))) return caller;
  const [scope] = scopes;
  throw new AppError('PERMISSION_DENIED', 'insufficient_scope', `This needs the scope ${scope}.`, {
    details: { scope },
  });
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

/** Runs the handler and commits what it wrote; runs it again after a lost race, unless `onLostRace` rejects. */
async function runInWork(
  handler: Unary,
  request: unknown,
  call: IncomingCall,
  caller: Caller | undefined,
  parts: ServerParts,
  space: SpaceGuard | undefined,
  finish?: (work: UnitOfWork, answer: unknown, secrets: ReadonlySet<string>) => void,
  onLostRace?: () => Promise<void>,
): Promise<unknown> {
  let turn: Turn | undefined;
  const takeTurn = async (collection: string, id: string) => {
    turn = await nextTurn(turn, { collection, id }, parts);
  };
  try {
    for (let tries = 1; ; tries++) {
      const run = new Run(parts.store.begin, undefined, takeTurn);
      const answer = await handler(request, contextOf(call, caller, run, parts));
      finish?.(run.work, answer, run.secrets);
      try {
        await commitRun(run, call, space);
      } catch (error) {
        if (!isWorthAnotherRun(error, tries)) throw commitError(error);
        if (error instanceof LostRace) {
          await onLostRace?.();
          turn = await nextTurn(turn, error, parts);
        }
        await pause(tries);
        if (call.deadline <= Date.now()) throw commitError(error);
        forgetReply(call.reply);
        continue;
      }
      return run.laterAnswer === undefined ? answer : await run.laterAnswer();
    }
  } finally {
    turn?.end();
  }
}

/** Clears what a run that lost a race has said about its answer: the next run may find something else. */
function forgetReply(reply: Reply): void {
  for (const field of Object.keys(reply) as (keyof Reply)[]) delete reply[field];
}

/** Returns the disk space guard that applies to a method; undefined for a method that frees space. */
function spaceFor({ path }: { readonly path: string }, { space }: ServerParts): SpaceGuard | undefined {
  return factsOf(path).freesSpace ? undefined : space;
}

/**
 * Commits what a run of a handler wrote, then runs its effects. Rejects with `timeout` if the caller no longer waits,
 * and with `storage_full` if `space` is exhausted.
 */
async function commitRun(run: Run, call: IncomingCall, space: SpaceGuard | undefined): Promise<void> {
  if (!run.worked || !run.work.dirty) return;
  space?.requireRoom();
  if (call.deadline <= Date.now() || isCancelled(call)) throw Timeout();
  await run.work.commit();
  for (const effect of run.effects) effect();
}

const turns = createTurns();
/** Milliseconds that a call waits for earlier calls of its process that lost the same race. */
const TURN_MS = 5_000;

/** Returns a turn in the queue for a record: the one that the call holds already, or a new one. */
async function nextTurn(
  held: Turn | undefined,
  { collection, id }: { readonly collection: string; readonly id: string },
  { service }: ServerParts,
): Promise<Turn> {
  const key = `${service}/${collection}/${id}`;
  if (held?.key === key) return held;
  held?.end();
  return turns.take(key, TURN_MS);
}

function contextOf(call: IncomingCall, caller: Caller | undefined, run: Run, { service }: ServerParts): CallContext {
  return new Context(service, caller, call, run);
}

/**
 * Returns whether to run the handler again. A unique value may have been taken since the handler checked; in the next
 * run the handler finds it and returns its own error.
 */
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
    return new AppError(
      'ALREADY_EXISTS',
      'already_exists',
      'A value of the request must be unique, but is already in use.',
      {
        cause: error,
      },
    );
  }
  return error;
}

/** Thrown when another process has recorded the outcome of the same request meanwhile. */
class RecordedMeanwhile extends Error {
  constructor(readonly outcome: IdempotencyRecord) {
    super('the outcome was recorded meanwhile');
  }
}

/** Runs the handler under an Idempotency-Key and records its outcome, or returns the recorded one. */
async function runOnce(
  method: MethodDefinition,
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
  const answerAgain = async (outcome: IdempotencyRecord): Promise<unknown> => {
    if (outcome.fingerprint !== idempotency.fingerprint) throw keyReused();
    await checkAdmission(handler, request, call, caller, parts, method);
    replayed.add();
    return method.responseDeserialize(replay(outcome, call.reply));
  };
  const requireUnrecorded = async (): Promise<void> => {
    const outcome = await outcomes.get(idempotency.id);
    if (isCurrent(outcome)) throw new RecordedMeanwhile(outcome);
  };
  try {
    const known = await outcomes.get(idempotency.id);
    if (isCurrent(known)) return await answerAgain(known);
    const keep = (work: UnitOfWork, record: Omit<IdempotencyRecord, 'version'>) => {
      if (known === undefined) work.insert(outcomes, record);
      else work.replace(outcomes, known, record);
    };
    try {
      return await runInWork(
        handler,
        request,
        call,
        caller,
        parts,
        spaceFor(method, parts),
        (work, answer, secrets) => {
          const kept = secrets.size === 0 ? answer : without(answer as Record<string, unknown>, secrets);
          keep(work, recordOfAnswer(idempotency, requestId, method.responseSerialize(kept), call.reply, secrets));
        },
        requireUnrecorded,
      );
    } catch (error) {
      if (!(error instanceof AppError) || !isLastingError(error)) throw error;
      const work = parts.store.begin();
      keep(work, recordOfError(idempotency, requestId, error));
      await work.commit().catch(async (lost: unknown) => {
        if (lost instanceof LostRace) await requireUnrecorded();
        throw commitError(lost);
      });
      throw error;
    }
  } catch (error) {
    if (!(error instanceof RecordedMeanwhile)) throw error;
    forgetReply(call.reply);
    return await answerAgain(error.outcome);
  } finally {
    running.delete(idempotency.id);
  }
}

function isCurrent(outcome: IdempotencyRecord | undefined): outcome is IdempotencyRecord {
  return outcome !== undefined && outcome.expiresAt > new Date().toISOString();
}

/** Returns an answer without some of its fields, each given by its path. */
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

/** Thrown by the first write or effect of a run that only checks whether the caller is still admitted. */
class AdmissionConfirmed extends Error {}

/**
 * Repeats the permission checks before a replay: the handler runs up to its first write, and errors about roles or
 * visibility are thrown again. Records that the request deleted the first time are missing now, so the replay of a
 * deletion may not find its record.
 */
async function checkAdmission(
  handler: Unary,
  request: unknown,
  call: IncomingCall,
  caller: Caller | undefined,
  parts: ServerParts,
  method: MethodDefinition,
): Promise<void> {
  const stop = (): never => {
    throw new AdmissionConfirmed();
  };
  const begun = parts.store.begin();
  const work: UnitOfWork = {
    get: (from, id) => begun.get(from, id),
    insert: stop,
    replace: stop,
    remove: stop,
    expect: () => {},
    increment: stop,
    incrementWithin: stop,
    publish: stop,
    dirty: false,
    commit: async () => {},
  };
  const incoming: IncomingCall = { ...call, signal: call.signal, reply: {} };
  const context = contextOf(incoming, caller, new Run(() => work, stop), parts);
  try {
    await handler(request, context);
  } catch (error) {
    if (error instanceof AdmissionConfirmed || !(error instanceof AppError)) return;
    const { deletes } = factsOf(method.path);
    if (error.code === 'PERMISSION_DENIED' || (error.code === 'NOT_FOUND' && !deletes)) throw error;
  }
}

/** Who changed a record last and when, and who created it, as far as it is known. */
export interface Authorship {
  readonly updatedBy?: unknown;
  readonly updatedAt?: string | undefined;
  readonly createdBy?: unknown;
  readonly createdAt?: string | undefined;
}

/**
 * Throws if the caller's base version is not `current`, the version that the record has now. The error names who made
 * that version: of the first one that is who created the record, also where it does not say who changed it.
 */
export function requireVersion(context: CallContext, current: number, record: Authorship = {}): void {
  const { baseVersion } = context.metadata;
  if (baseVersion === undefined || baseVersion === current) return;
  const { createdBy, createdAt } = current === 1 ? record : {};
  throw VersionConflict({
    current_version: current,
    updated_by: record.updatedBy ?? createdBy ?? null,
    updated_at: record.updatedAt ?? createdAt ?? null,
  });
}
