import type { Log } from '@commonplace/kit/log';
import { LostRace } from '@commonplace/kit/store';

/** Small writes that no request waits for. */
export interface Background {
  /** Starts a task unless one of that name runs. Its failure is logged; a lost race is no failure. */
  run(name: string, task: () => Promise<void>): void;
  /** Waits for what runs. */
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
