/**
 * Wakes a loop that waits, or makes its next wait return at once. It serves one loop: two must not wait at the same
 * time.
 */
interface WakeSignal {
  wake(): void;
  /** Waits for `wake`, for at most `ms` milliseconds. */
  wait(ms: number): Promise<void>;
  /** Waits for `ms` milliseconds regardless of `wake`; only `close` ends it early. */
  sleep(ms: number): Promise<void>;
  /** Ends all current and future waits. */
  close(): void;
}

export function createWakeSignal(): WakeSignal {
  let woken = false;
  let closed = false;
  let onWake = (): void => {};
  let onClose = (): void => {};
  const pause = (ms: number, listen: (wake: () => void) => void): Promise<void> =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
      listen(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  return {
    wake: () => {
      woken = true;
      onWake();
    },
    wait: async (ms) => {
      if (!woken && !closed) {
        await pause(ms, (wake) => {
          onWake = wake;
          onClose = wake;
        });
      }
      woken = false;
    },
    sleep: async (ms) => {
      if (closed) return;
      await pause(ms, (wake) => {
        onWake = () => {};
        onClose = wake;
      });
    },
    close: () => {
      closed = true;
      onClose();
    },
  };
}
