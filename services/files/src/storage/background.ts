import type { Log } from '@commonplace/kit/log';

interface Background {
  /** Runs work in the background; a failure is logged under `what`, and the jobs retry it. */
  run(what: string, work: () => Promise<unknown>): void;
  /** Waits for running work and starts no more. */
  close(): Promise<void>;
}

export function createBackground(log: Log): Background {
  const running = new Set<Promise<unknown>>();
  let closed = false;
  return {
    run(what, work) {
      if (closed) return;
      const done = work()
        .catch((error) => log.warn(what, { error }))
        .finally(() => running.delete(done));
      running.add(done);
    },
    async close() {
      closed = true;
      await Promise.all(running);
    },
  };
}
