import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@commonplace/kit/errors';
import type { Log } from '@commonplace/kit/log';

/** Milliseconds between two attempts, and between two log lines that name the missing server. */
const RETRY_MS = 1000;
const REMIND_MS = 30_000;

export interface WaitOptions {
  readonly log: Log;
  /** Called before the first wait, so that probes are answered meanwhile. */
  readonly onWaiting?: () => Promise<void>;
  readonly retryMs?: number;
}

/**
 * Opens a server's client, and retries until the server answers. Logs the server's name as `start.waiting`. Rejects
 * with any other failure, such as a wrong password.
 */
export async function openWhenThere<T>(
  server: string,
  open: () => Promise<T>,
  { log, onWaiting, retryMs = RETRY_MS }: WaitOptions,
): Promise<T> {
  const since = Date.now();
  let reminded: number | undefined;
  for (;;) {
    try {
      const opened = await open();
      if (reminded !== undefined) log.info('start.continued', { server, waited_ms: Date.now() - since });
      return opened;
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'UNAVAILABLE')) throw error;
      if (reminded === undefined) await onWaiting?.();
      if (reminded === undefined || Date.now() - reminded >= REMIND_MS) {
        reminded = Date.now();
        log.warn('start.waiting', { server, waited_ms: reminded - since, error: error.cause ?? error });
      }
    }
    await sleep(retryMs);
  }
}
