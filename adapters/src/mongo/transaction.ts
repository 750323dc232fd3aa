import { setTimeout as sleep } from 'node:timers/promises';
import { Timeout } from '@commonplace/kit/errors';
import type { ClientSession } from 'mongodb';
import { isAway, isBroken, isTransient, isUnknownCommit } from './errors.js';
import type { Sessions } from './sessions.js';

/** Milliseconds within which a transaction is retried. */
const RETRY_WINDOW_MS = 10_000;
/**
 * Limits of the backoff between tries in milliseconds: a random time below 5 at first, half as much more each time, up
 * to 250.
 */
const [MIN_BACKOFF_MS, MAX_BACKOFF_MS] = [5, 250];

/**
 * Runs work in one transaction, and retries it while nothing was written for reasons outside of the work. Rejects with
 * what `work` threw, with the driver's last error, or with Timeout if the outcome of the commit stays unknown. The
 * driver's own `withTransaction` is not used: it retries for two minutes, and misses errors that the driver does not
 * label when several connections are lost at once.
 */
export async function inTransaction(
  sessions: Sessions,
  work: (session: ClientSession) => Promise<void>,
): Promise<void> {
  const end = performance.now() + RETRY_WINDOW_MS;
  for (let attempt = 0; ; attempt++) {
    try {
      return await once(sessions, work, end);
    } catch (error) {
      if (!(error instanceof NothingDone)) throw error;
      if (performance.now() > end) throw error.cause;
      await sleep(Math.random() * Math.min(MIN_BACKOFF_MS * 1.5 ** attempt, MAX_BACKOFF_MS));
    }
  }
}

/** Thrown when the transaction was not committed and may be run again. */
class NothingDone extends Error {}

async function once(sessions: Sessions, work: (session: ClientSession) => Promise<void>, end: number): Promise<void> {
  const session = await sessions.take().catch((error) => {
    throw isBroken(error) ? new NothingDone('', { cause: error }) : error;
  });
  session.startTransaction();
  try {
    await work(session);
  } catch (error) {
    const broken = isBroken(error);
    const aborted = session.abortTransaction().then(
      () => (broken ? sessions.drop(session) : sessions.give(session)),
      () => sessions.drop(session),
    );
    // Without a connection, the abort may take long.
    if (!broken) await aborted;
    throw broken || isTransient(error) ? new NothingDone('', { cause: error }) : error;
  }
  try {
    await commit(session, end);
    sessions.give(session);
  } catch (error) {
    sessions.drop(session);
    throw error;
  }
}

async function commit(session: ClientSession, end: number): Promise<void> {
  for (let unknown = false; ; unknown = true) {
    try {
      return await session.commitTransaction();
    } catch (error) {
      // A server that knows nothing of the transaction after a crash may have committed it before.
      if (isTransient(error)) throw unknown ? Timeout({}, { cause: error }) : new NothingDone('', { cause: error });
      if (!isUnknownCommit(error) && !isBroken(error) && !isAway(error)) throw error;
      if (performance.now() > end) throw Timeout({}, { cause: error });
      await sleep(Math.random() * MAX_BACKOFF_MS);
    }
  }
}
