import { AsyncLocalStorage } from 'node:async_hooks';
import { type AppError, Timeout } from '../errors/index.js';
import { type GivenUp, isGivenUp, whenGivenUp } from '../rpc/given-up.js';
import { cancelled } from '../rpc/refusal.js';
import { at } from '../rpc/slices.js';

/** Until when a call is waited for, and what tells that it is not waited for any more. */
export interface Bounds extends GivenUp {
  /** Epoch milliseconds. */
  readonly deadline: number;
}

interface Served {
  readonly bounds: Bounds;
  /** It has its answer: what goes on behind that is nobody's call. */
  answered: boolean;
}

const served = new AsyncLocalStorage<Served | undefined>();

/**
 * Runs what serves a call: whatever adapters do for it ends with it. Only servers of a network do this; a call of the
 * same process is given up by its channel, and its store is in the process as well.
 */
export async function servedWithin<T>(bounds: Bounds, work: () => Promise<T>): Promise<T> {
  const call: Served = { bounds, answered: false };
  try {
    return await served.run(call, work);
  } finally {
    // The network ends each call, the answered as well: work that goes on behind an answer is not to end with it.
    call.answered = true;
  }
}

/** Runs what several calls share, or what goes on behind their answers. */
export function unbounded<T>(work: () => T): T {
  return served.getStore() === undefined ? work() : served.run(undefined, work);
}

/** The call that is served here; undefined where nobody waits. */
function servedNow(): Served | undefined {
  const call = served.getStore();
  return call?.answered ? undefined : call;
}

/** Milliseconds that work may take: `most`, or what is left to the call that it is done for, but 1 at least. */
export function timeLeft(most: number): number {
  const call = servedNow();
  return call === undefined ? most : Math.max(1, Math.min(most, call.bounds.deadline - Date.now()));
}

/** Waits for work as long as the call that it is done for is waited for. Rejects with `timeout` then. */
export function withinCall<T>(work: Promise<T>): Promise<T> {
  const call = servedNow();
  return call === undefined ? work : raced(work, call);
}

/** Waits for work until a time, in epoch milliseconds. Rejects with `timeout` then. */
export function before<T>(deadline: number, work: Promise<T>): Promise<T> {
  return raced(work, { bounds: { deadline }, answered: false });
}

function raced<T>(work: Promise<T>, call: Served): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (error: AppError) => {
      done();
      if (!call.answered) reject(error);
    };
    const inTime = at(call.bounds.deadline, () => end(Timeout()));
    const wanted = whenGivenUp(call.bounds, () => end(cancelled()));
    const done = () => {
      inTime();
      wanted();
    };
    work.then(
      (value) => {
        done();
        resolve(value);
      },
      (error) => {
        done();
        reject(error);
      },
    );
    // What is over already is not waited for until somebody looks: a commit would begin meanwhile.
    if (isGivenUp(call.bounds)) end(cancelled());
    else if (call.bounds.deadline <= Date.now()) end(Timeout());
  });
}
