import type { Log } from '../log/index.js';

interface PeriodicOptions {
  /** Names the work in logs: `tenancy.purge`. */
  readonly name: string;
  /** Milliseconds from the end of a round to the beginning of the next. */
  readonly everyMs: number;
  readonly log: Log;
  /** Runs one round. Several processes may run one at the same time. */
  run(signal: AbortSignal): Promise<unknown>;
}

/** Work that is repeated periodically, such as a sweep. */
export interface Periodic {
  /** Starts the first round at once. */
  begin(): void;
  /** Runs a round now, after a round in progress; rejects if it fails. */
  runNow(): Promise<void>;
  /** Aborts the signal of the round in progress, and waits for that round to end. */
  close(): Promise<void>;
}

/** Repeats `run` periodically. A failure is logged and does not prevent later rounds. */
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
