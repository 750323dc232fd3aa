import type { Caller } from '../auth/index.js';
import { isCancelled } from '../deadline/cancellation.js';
import { AppError, Timeout, Unavailable } from '../errors/index.js';
import type { SpaceGuard } from '../space/index.js';
import { LostRace, UniqueTaken, type UnitOfWork } from '../store/port.js';
import { Context, Run } from './context.js';
import { factsOf } from './methods.js';
import type { CallContext, IncomingCall, Reply } from './port.js';
import type { ServerParts, Unary } from './server-parts.js';
import { createTurns, type Turn } from './turns.js';

/** Maximum number of runs of a handler that keeps losing races. */
const MAX_RUNS = 12;
/** Maximum number of retries of a handler after a unique value was taken. */
const MAX_LOOKS = 3;

/** Runs the handler and commits what it wrote; runs it again after a lost race, unless `onLostRace` rejects. */
export async function runInWork(
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
export function forgetReply(reply: Reply): void {
  for (const field of Object.keys(reply) as (keyof Reply)[]) delete reply[field];
}

/** Returns the disk space guard that applies to a method; undefined for a method that frees space. */
export function spaceFor({ path }: { readonly path: string }, { space }: ServerParts): SpaceGuard | undefined {
  return factsOf(path).freesSpace ? undefined : space;
}

/**
 * Commits what a run of a handler wrote, then runs its effects. Rejects with `timeout` if the caller no longer waits,
 * and with `storage_full` if `space` is exhausted.
 */
export async function commitRun(run: Run, call: IncomingCall, space: SpaceGuard | undefined): Promise<void> {
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

export function contextOf(
  call: IncomingCall,
  caller: Caller | undefined,
  run: Run,
  { service }: ServerParts,
): CallContext {
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

export function commitError(error: unknown): unknown {
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
