import type { Log } from '../log/index.js';

export interface PeriodicOptions {
  /** Names the work in logs: `tenancy.purge`. */
  readonly name: string;
  /** Milliseconds from the end of a round to the beginning of the next. */
  readonly everyMs: number;
  readonly log: Log;
  /** Does one round. Several processes may do so at once. */
  run(signal: AbortSignal): Promise<unknown>;
}

/** Work that is done again and again, such as a sweep. */
export interface Periodic {
  /** Begins with a round at once. */
  begin(): void;
  /** Does a round now, after the one under way; rejects where it fails. */
  runNow(): Promise<void>;
  /** Aborts the signal of the round under way, and waits for it. */
  close(): Promise<void>;
}

/** Repeats a piece of work; a round that fails is logged, and the next comes at its time. */
export function createPeriodic({ name, everyMs, log, run }: PeriodicOptions): Periodic {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function runNow(): Promise<void> {
    const round = last.then(async () => {
      if (!closing.signal.aborted) await run(closing.signal);
    });
    last = round.catch(() => {});
    return round;
  }

  async function repeat(): Promise<void> {
    await runNow().catch((error: unknown) => {
      if (!closing.signal.aborted) log.error('periodic.failed', { work: name, error });
    });
    if (closing.signal.aborted) return;
    timer = setTimeout(() => void repeat(), everyMs);
    timer.unref();
  }

  return {
    begin: () => void repeat(),
    runNow,
    async close() {
      closing.abort();
      clearTimeout(timer);
      await last;
    },
  };
}
