import { once } from 'node:events';
import { startThread } from '@commonplace/kit/program';

export interface RunningCheck {
  /** Resolves to the faults of the file, empty if it has none, or to undefined if the check was stopped. */
  readonly faults: Promise<readonly string[] | undefined>;
  /** Stops the check. */
  stop(): Promise<void>;
}

/**
 * Checks the structure of a database (`PRAGMA quick_check`) in a separate thread, while other threads read and write.
 */
export function checkDatabase(file: string): RunningCheck {
  const thread = startThread(new URL('./check-thread.js', import.meta.url), {
    workerData: { file },
    name: 'store-check',
  });
  thread.unref();
  const reported = once(thread, 'message').then(([lines]) => (lines as string[]).filter((line) => line !== 'ok'));
  const ended = once(thread, 'exit').then(() => undefined);
  const faults = Promise.race([reported, ended]).catch((error: Error) => [error.message]);
  reported.catch(() => {});
  return {
    faults,
    async stop() {
      await thread.terminate();
    },
  };
}
