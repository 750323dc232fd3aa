/** Wakes the one who waits, or who will next. For one loop: two must not wait at a time. */
export interface Bell {
  ring(): void;
  /** Waits for a ring, but not longer than so many milliseconds. */
  wait(ms: number): Promise<void>;
  /** Waits so many milliseconds, whoever rings, but for `hush`. */
  sleep(ms: number): Promise<void>;
  /** Ends all waiting, now and later. */
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
