/** Looks for work at the right moments, one look at a time. */
export interface WakeUp {
  begin(): void;
  /** Looks as soon as the look under way, if any, has ended. */
  wake(): void;
  /** Looks no more, and waits for the look that is under way. */
  close(): Promise<void>;
}

export interface WakeUpOptions {
  /** Returns when the next job is due, in epoch milliseconds; undefined where none is. */
  look(): Promise<number | undefined>;
  /** Whether this process sees all writes, so that nothing becomes due without its knowledge. */
  readonly isExclusive: boolean;
  onError(error: unknown): void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The longest pause: for a clock that jumps or a machine that was asleep, and for what other processes write. */
const MAX_PAUSE_MS = { exclusive: 10_000, shared: 3_000 };
/** Pause after a look that failed. */
const ERROR_PAUSE_MS = 1_000;
/** Pause between two looks that commits ask for, so that a thousand commits do not cause a thousand looks. */
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
    // Processes of one service do not look at the same moments.
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
