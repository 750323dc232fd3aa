import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError, Timeout } from '../errors/index.js';

/** Until when a call is waited for, and what tells that it is not waited for any more. */
export interface Bounds {
  /** Epoch milliseconds. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

interface Served extends Bounds {
  /** It has its answer: what goes on behind that is nobody's call. */
  answered: boolean;
}

const bounds = new AsyncLocalStorage<Served | undefined>();

/**
 * Runs what serves a call: whatever adapters do for it ends with it. Only servers of a network do this; a call of the
 * same process is given up by its channel, and its store is in the process as well.
 */
export async function servedWithin<T>({ deadline, signal }: Bounds, work: () => Promise<T>): Promise<T> {
  const call: Served = { deadline, signal, answered: false };
  try {
    return await bounds.run(call, work);
  } finally {
    // The network ends each call, the answered as well: work that goes on behind an answer is not to end with it.
    call.answered = true;
  }
}

/** Runs what several calls share, or what goes on behind their answers. */
export function unbounded<T>(work: () => T): T {
  return bounds.getStore() === undefined ? work() : bounds.run(undefined, work);
}

/** The bounds of the call that is served here; undefined where nobody waits. */
export function boundsNow(): Bounds | undefined {
  return served();
}

function served(): Served | undefined {
  const call = bounds.getStore();
  return call?.answered ? undefined : call;
}

/** Milliseconds that work may take: `most`, or what is left to the call that it is done for, but 1 at least. */
export function timeLeft(most: number): number {
  const call = served();
  return call === undefined ? most : Math.max(1, Math.min(most, call.deadline - Date.now()));
}

/** Waits for work as long as the call that it is done for is waited for. Rejects with `timeout` then. */
export function withinCall<T>(work: Promise<T>): Promise<T> {
  const call = served();
  return call === undefined ? work : raced(work, call);
}

/** Waits for work until a time, in epoch milliseconds. Rejects with `timeout` then. */
export function before<T>(deadline: number, work: Promise<T>): Promise<T> {
  return raced(work, { deadline, signal: undefined, answered: false });
}

function raced<T>(
  work: Promise<T>,
  call: { readonly deadline: number; readonly signal: AbortSignal | undefined; readonly answered: boolean },
): Promise<T> {
  const { deadline, signal } = call;
  return new Promise((resolve, reject) => {
    const end = (error: AppError) => {
      done();
      if (!call.answered) reject(error);
    };
    const gone = () => end(new AppError('CANCELLED', 'timeout', 'The caller did not wait.'));
    const timer = setTimeout(() => end(Timeout()), Math.max(0, deadline - Date.now()));
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', gone);
    };
    if (signal?.aborted) gone();
    else signal?.addEventListener('abort', gone, { once: true });
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
  });
}
