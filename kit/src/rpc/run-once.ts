import type { Caller } from '../auth/index.js';
import { AppError } from '../errors/index.js';
import { type Collection, LostRace, type UnitOfWork } from '../store/port.js';
import { Run } from './context.js';
import {
  type IdempotencyRecord,
  isLastingError,
  keyInProgress,
  keyReused,
  recordOfAnswer,
  recordOfError,
  replay,
} from './idempotency.js';
import { factsOf } from './methods.js';
import type { IncomingCall, MethodDefinition } from './port.js';
import { commitError, contextOf, forgetReply, runInWork, spaceFor } from './run-in-work.js';
import type { ServerParts, Unary } from './server-parts.js';
import { replays } from './telemetry.js';

const replayed = replays.bind();

/** Thrown when another process has recorded the outcome of the same request meanwhile. */
class RecordedMeanwhile extends Error {
  constructor(readonly outcome: IdempotencyRecord) {
    super('the outcome was recorded meanwhile');
  }
}

/** Runs the handler under an Idempotency-Key and records its outcome, or returns the recorded one. */
export async function runOnce(
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
