/**
 * Wakes a loop that waits, or makes its next wait return at once. It serves one loop: two must not wait at the same
 * time.
 */
export interface Bell {
  ring(): void;
  /** Waits for `ring`, for at most `ms` milliseconds. */
  wait(ms: number): Promise<void>;
  /** Waits for `ms` milliseconds regardless of `ring`; only `hush` ends it early. */
  sleep(ms: number): Promise<void>;
  /** Ends all current and future waits. */
  hush(): void;
}

export function createBell(): Bell {
  let rung = false;
  let hushed = false;
  let onRing = (): void => {};
  let onHush = (): void => {};
  const pause = (ms: number, listen: (wake: () => void) => void): Promise<void> =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
      listen(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  return {
    ring: () => {
      rung = true;
      onRing();
    },
    wait: async (ms) => {
      if (!rung && !hushed) {
        await pause(ms, (wake) => {
          onRing = wake;
          onHush = wake;
        });
      }
      rung = false;
    },
    sleep: async (ms) => {
      if (hushed) return;
      await pause(ms, (wake) => {
        onRing = () => {};
        onHush = wake;
      });
    },
    hush: () => {
      hushed = true;
      onHush();
    },
  };
}
