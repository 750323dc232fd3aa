import { AsyncLocalStorage } from 'node:async_hooks';
import { type AppError, Timeout } from '../errors/index.js';
import { type Cancellable, cancelled, isCancelled, onCancelled } from './cancellation.js';
import { at } from './slices.js';

export { type Cancellable, cancelled, isCancelled, onCancelled } from './cancellation.js';
export { at } from './slices.js';

/** The deadline of a call, and its cancellation. */
export interface Bounds extends Cancellable {
  /** Deadline in milliseconds since 1970. */
  readonly deadline: number;
}

interface Served {
  readonly bounds: Bounds;
  /** Whether the call was answered; work that continues after that belongs to no call. */
  answered: boolean;
}

const served = new AsyncLocalStorage<Served | undefined>();

/**
 * Runs work that serves a call, with which all operations of adapters for it end. Only network servers use it: a call
 * within the process is cancelled by its channel, and its store is in the process as well.
 */
export async function servedWithin<T>(bounds: Bounds, work: () => Promise<T>): Promise<T> {
  const call: Served = { bounds, answered: false };
  try {
    return await served.run(call, work);
  } finally {
    // The network aborts every call, even an answered one; work that continues after an answer must not end with it.
    call.answered = true;
  }
}

/** Runs work that several calls share, or that continues after their answers. */
export function unbounded<T>(work: () => T): T {
  return served.getStore() === undefined ? work() : served.run(undefined, work);
}

/** Returns the call that is being served; undefined if no caller is waiting. */
function servedNow(): Served | undefined {
  const call = served.getStore();
  return call?.answered ? undefined : call;
}

/** Returns the number of milliseconds that work may take: `maxMs` or the time left of its call, but at least 1. */
export function timeLeft(maxMs: number): number {
  const call = servedNow();
  return call === undefined ? maxMs : Math.max(1, Math.min(maxMs, call.bounds.deadline - Date.now()));
}

/** Waits for work until the deadline or cancellation of its call, and then rejects with `timeout`. */
export function withinCall<T>(work: Promise<T>): Promise<T> {
  const call = servedNow();
  return call === undefined ? work : raced(work, call);
}

/** Waits for work until a deadline in milliseconds since 1970, and then rejects with `timeout`. */
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
    const wanted = onCancelled(call.bounds, () => end(cancelled()));
    const done = () => {
      inTime();
      wanted();
    };
    work.then(done, done);
    work.then(resolve, reject);
    // A call that has ended already rejects at once; otherwise a commit could start before the next check.
    if (isCancelled(call.bounds)) end(cancelled());
    else if (call.bounds.deadline <= Date.now()) end(Timeout());
  });
}
