/** Lets a loop wait for work or for a time. */
export interface Pause {
  /** Waits until `wake` is called; returns at once if it was called since the last wait. */
  idle(): Promise<void>;
  /** Waits for `ms` milliseconds. */
  sleep(ms: number): Promise<void>;
  wake(): void;
  /** Ends any wait. */
  interrupt(): void;
}

export function createPause(): Pause {
  let awake = false;
  let endIdle = (): void => {};
  let endSleep = (): void => {};

  function wake(): void {
    awake = true;
    endIdle();
  }

  return {
    async idle() {
      if (!awake) {
        await new Promise<void>((resolve) => {
          endIdle = resolve;
        });
      }
      awake = false;
    },
    sleep(ms) {
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        endSleep = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    wake,
    interrupt() {
      wake();
      endSleep();
    },
  };
}
