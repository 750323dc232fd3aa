import type { Log } from '@commonplace/kit/log';
import { LostRace } from '@commonplace/kit/store';

/** Runs small writes that no request waits for. */
export interface Background {
  /** Starts a task unless one of that name is running. Logs failures; a lost race does not count as one. */
  run(name: string, task: () => Promise<void>): void;
  /** Waits for the running tasks. */
  settle(): Promise<void>;
}

export function createBackground(log: Log): Background {
  const running = new Map<string, Promise<void>>();
  return {
    run(name, task) {
      if (running.has(name)) return;
      const done = task()
        .catch((error: unknown) => {
          if (!(error instanceof LostRace)) log.warn('identity.background_failed', { task: name.split(':')[0], error });
        })
        .finally(() => running.delete(name));
      running.set(name, done);
    },
    async settle() {
      await Promise.all(running.values());
    },
  };
}
