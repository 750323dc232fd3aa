/** How a loop waits. */
export interface Pause {
  /** Waits until `wake`; not at all where that was called since it last waited. */
  idle(): Promise<void>;
  /** Waits so many milliseconds. */
  sleep(ms: number): Promise<void>;
  wake(): void;
  /** Ends any waiting. */
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
