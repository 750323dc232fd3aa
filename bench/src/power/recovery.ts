import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Checks images in a separate process, which is restarted if an image crashes it. */
interface Recovery {
  check(home: string, place: number): Promise<string[]>;
  close(): void;
}

/** Timeout of a check in milliseconds, after which its process is killed. */
const TIMEOUT_MS = 60_000;

export function openRecovery(historyFile: string): Recovery {
  let child: ChildProcess | undefined;
  return {
    async check(home, place) {
      child ??= fork(fileURLToPath(new URL('./recover.js', import.meta.url)), [historyFile]);
      const running = child;
      const over = new AbortController();
      const timer = setTimeout(() => running.kill('SIGKILL'), TIMEOUT_MS);
      running.send({ home, place });
      try {
        return await Promise.race([
          once(running, 'message', over).then(([faults]) => faults as string[]),
          once(running, 'exit', over).then(([code, signal]) => {
            child = undefined;
            return [`its recovery ended with ${code ?? signal}`];
          }),
        ]);
      } finally {
        clearTimeout(timer);
        over.abort();
      }
    },
    close: () => void child?.kill(),
  };
}
