/** Calls `look` when work may be due, one call at a time. */
interface WakeUp {
  begin(): void;
  /** Calls `look` as soon as a call in progress has ended. */
  wake(): void;
  /** Stops calling `look`, and waits for a call in progress. */
  close(): Promise<void>;
}

interface WakeUpOptions {
  /** Starts due work. Returns when the next job is due, in epoch milliseconds; undefined if no job is waiting. */
  look(): Promise<number | undefined>;
  /** Whether this process sees all writes, so that nothing becomes due without its knowledge. */
  readonly isExclusive: boolean;
  onError(error: unknown): void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Maximum pause between two looks, in case the clock jumps, the machine sleeps, or another process writes. */
const MAX_PAUSE_MS = { exclusive: 10_000, shared: 3_000 };
/** Pause after a failed look. */
const ERROR_PAUSE_MS = 1_000;
/** Minimum pause between two looks that commits request, so that a thousand commits do not cause a thousand looks. */
const MIN_GAP_MS = 10;

export function createWakeUp({ look, isExclusive, onError, now }: WakeUpOptions): WakeUp {
  const maxPauseMs = isExclusive ? MAX_PAUSE_MS.exclusive : MAX_PAUSE_MS.shared;
  let state: 'idle' | 'waiting' | 'looking' | 'closed' = 'idle';
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  let lookedAt = 0;
  let looking: Promise<void> = Promise.resolve();

  function pause(ms: number): void {
    if (state === 'closed') return;
    state = 'waiting';
    // Spreads the polls of several processes of one service over time.
    const spread = isExclusive ? 1 : 0.75 + Math.random() / 2;
    timer = setTimeout(run, Math.max(0, Math.min(ms, maxPauseMs * spread)));
    timer.unref();
  }

  async function lookOnce(): Promise<void> {
    try {
      const next = await look();
      pause(again ? MIN_GAP_MS : next === undefined ? maxPauseMs : next - now() + 1);
    } catch (error) {
      onError(error);
      pause(ERROR_PAUSE_MS);
    }
  }

  function run(): void {
    state = 'looking';
    again = false;
    lookedAt = performance.now();
    looking = lookOnce();
  }

  return {
    begin() {
      if (state === 'idle') run();
    },
    wake() {
      if (state === 'looking') again = true;
      if (state !== 'waiting') return;
      clearTimeout(timer);
      pause(MIN_GAP_MS - (performance.now() - lookedAt));
    },
    async close() {
      state = 'closed';
      clearTimeout(timer);
      await looking;
    },
  };
}
