import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { EmbedderFailure } from '../port.js';
import type { ProcessData, Reply, Task } from './protocol.js';

/**
 * A process that a model runs in, one task at a time. It is a process since the memory that a model takes is given
 * back only with it, and since it can stand behind all others for the processors.
 */
export interface ModelProcess {
  /** Rejects with EmbedderFailure; the process may be gone then. */
  do(task: Task): Promise<Float32Array>;
  readonly isGone: boolean;
  kill(): Promise<void>;
}

const ENTRY = fileURLToPath(new URL('./worker.js', import.meta.url));
/** A task takes some 100 ms; where processors are short, a hundred times that. */
const PATIENCE_MS = 120_000;

function start(data: ProcessData): ChildProcess {
  return fork(ENTRY, [JSON.stringify(data)], {
    execArgv: ['--max-old-space-size=128', '--no-warnings'],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

export function startModelProcess(data: ProcessData): ModelProcess {
  const child = start(data);
  let gone = false;
  let settle: ((outcome: Reply | EmbedderFailure) => void) | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const end = (failure: EmbedderFailure): void => {
    gone = true;
    settle?.(failure);
  };
  child.on('message', (reply) => settle?.(reply as Reply));
  child.on('error', (cause) => end(new EmbedderFailure('the process of the model did not start', true, { cause })));
  child.on('exit', (code, signal) =>
    end(new EmbedderFailure(`the process of the model ended (${signal ?? code})`, true)),
  );

  return {
    get isGone() {
      return gone;
    },
    do(task) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          end(new EmbedderFailure(`the model took more than ${PATIENCE_MS / 1000} s`, true));
          child.kill('SIGKILL');
        }, PATIENCE_MS);
        settle = (outcome) => {
          settle = undefined;
          clearTimeout(timer);
          keepAlive(child, false);
          if (outcome instanceof EmbedderFailure) reject(outcome);
          // A model that can't be loaded or run will not do better the next time.
          else if ('error' in outcome) reject(new EmbedderFailure(outcome.error, false));
          else resolve(outcome.vectors);
        };
        keepAlive(child, true);
        // A failure to send is followed by the exit that explains it.
        child.send(task, () => undefined);
      });
    },
    async kill() {
      end(new EmbedderFailure('the embedder is closed', false));
      keepAlive(child, true);
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Only a task, and waiting for the end, keep the product's process running. */
function keepAlive(child: ChildProcess, on: boolean): void {
  if (on) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}
