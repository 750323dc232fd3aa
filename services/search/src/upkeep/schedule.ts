import type { Log } from '@commonplace/kit/log';
import { pause } from '../pause.js';
import type { DriftCheck } from './drift.js';

export interface ScheduleParts {
  readonly check: DriftCheck;
  /** Makes an index that holds nothing yet, or no longer. */
  readonly ensureBuilt: (signal: AbortSignal) => Promise<void>;
  /** Events that wait for the index; rejects, or does not answer, while the broker is lost. */
  readonly waitingEvents: () => Promise<number>;
  readonly log: Log;
  /** Milliseconds between two checks; 0 for none but those after a loss of the broker. */
  readonly everyMs: number;
  /** Milliseconds between two looks at the broker. 30,000 when absent. */
  readonly lookMs?: number;
}

/** Runs checks of the index until it is closed. */
export interface Schedule {
  close(): Promise<void>;
}

const LOOK_MS = 30_000;
/** One check of so many compares everything. */
const FULL_EACH = 24;
/** The share of the time between two checks by which replicas keep apart. */
const APART = 0.1;

/** A check each so often, and a full one once the broker is there again after a loss. */
export function startSchedule({
  check,
  ensureBuilt,
  waitingEvents,
  log,
  everyMs,
  lookMs = LOOK_MS,
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
    if (lost || (!back && Date.now() < due)) return;
    due = nextAfter(everyMs);
    checks++;
    await ensureBuilt(signal);
    const drift = back || checks % FULL_EACH === 0 ? await check.full(signal) : await check.quick(signal);
    log.debug('index.checked', { ...drift });
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await pause(Math.min(lookMs, Math.max(1, due - Date.now())), signal);
      if (signal.aborted) return;
      try {
        await look();
      } catch (error) {
        // The index or the owner of the tree is not there: the next check tries again.
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
  return everyMs === 0 ? Number.POSITIVE_INFINITY : Date.now() + everyMs * (1 + Math.random() * APART);
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
