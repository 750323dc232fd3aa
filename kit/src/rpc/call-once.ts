import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../errors/index.js';
import type { CallOptions, Idempotency } from './port.js';

/**
 * Milliseconds between two checks of a call that another worker made and that still runs, and maximum milliseconds of
 * all checks.
 */
const LOOK_MS = 250;
const PATIENCE_MS = 30_000;

/** A call that changes something, whose answer its service keeps under an idempotency id. */
interface OnceCall<T> {
  readonly idempotency: Idempotency;
  /** Returns the options of the next attempt. */
  options(): Promise<CallOptions>;
  send(options: CallOptions): Promise<T>;
  readonly signal: AbortSignal;
}

/**
 * Makes a call whose effect happens once, even if it is repeated after a crash: the service stores the first answer
 * under the idempotency id, in the commit of the change. Waits for a call of a dead worker that is still running.
 */
export async function callOnce<T>({ idempotency, options, send, signal }: OnceCall<T>): Promise<T> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const next = await options();
    try {
      return await send({ ...next, metadata: { ...next.metadata, idempotency } });
    } catch (error) {
      const isRunning = error instanceof AppError && error.reason === 'idempotency_in_progress';
      if (!isRunning || Date.now() > until) throw error;
      await sleep(LOOK_MS, undefined, { signal });
    }
  }
}
