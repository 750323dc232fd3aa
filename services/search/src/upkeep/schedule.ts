import type { Log } from '@commonplace/kit/log';
import { pause } from '../pause.js';
import type { DriftCheck } from './drift.js';

interface ScheduleParts {
  readonly check: DriftCheck;
  /** Builds an index that is empty or incomplete, as one whose server has lost it. */
  readonly ensureBuilt: (signal: AbortSignal) => Promise<void>;
  /**
   * Returns the number of events that wait for the index. Rejects, or does not answer, while the broker is unreachable.
   */
  readonly waitingEvents: () => Promise<number>;
  readonly log: Log;
  /** Milliseconds between two checks; 0 checks only after a loss of the broker. */
  readonly everyMs: number;
  /** Milliseconds between two polls of the broker; 30,000 by default. */
  readonly pollMs?: number;
}

/** Runs checks of the index until it is closed. */
export interface Schedule {
  close(): Promise<void>;
}

const POLL_INTERVAL_MS = 30_000;
/** Number of checks of which one compares everything. */
const CHECKS_PER_FULL_CHECK = 24;
/** Random share that is added to the interval, so that replicas check at different times. */
const JITTER = 0.1;

/**
 * Starts a periodic check, and a full one each time the broker is reachable again. At each poll it builds an index that is
 * incomplete.
 */
export function startSchedule({
  check,
  ensureBuilt,
  waitingEvents,
  log,
  everyMs,
  pollMs: lookMs = POLL_INTERVAL_MS,
}: ScheduleParts): Schedule {
  const stop = new AbortController();
  const { signal } = stop;
  let lost = false;
  let checks = 0;
  let due = nextAfter(everyMs);

  async function look(): Promise<void> {
    const answered = await withinTime(waitingEvents(), lookMs);
    const back = lost && answered;
    lost = !answered;
    await ensureBuilt(signal);
    if (lost || (!back && Date.now() < due)) return;
    due = nextAfter(everyMs);
    checks++;
    const drift = back || checks % CHECKS_PER_FULL_CHECK === 0 ? await check.full(signal) : await check.quick(signal);
    log.debug('index.checked', { ...drift });
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await pause(Math.min(lookMs, Math.max(1, due - Date.now())), signal);
      if (signal.aborted) return;
      try {
        await look();
      } catch (error) {
        // The index or the owner of the tree is unreachable; the next check tries again.
        if (!signal.aborted) log.warn('index.check_failed', { error });
      }
    }
  }

  const running = run();
  return {
    async close() {
      stop.abort();
      await running;
    },
  };
}

function nextAfter(everyMs: number): number {
  return everyMs === 0 ? Number.POSITIVE_INFINITY : Date.now() + everyMs * (1 + Math.random() * JITTER);
}

async function withinTime(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const done = work.then(
    () => true,
    () => false,
  );
  const answered = await Promise.race([done, late]);
  clearTimeout(timer);
  return answered;
}
