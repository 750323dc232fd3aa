import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MediaFailure } from './failure.js';
import type { ProcessData, Reply, Task } from './protocol.js';

/**
 * A process that parses what strangers sent, one task at a time. It is a process and not a thread, since the memory of
 * native code and of buffers has no limit in a thread, and native code can't be stopped there; it also knows none of
 * the product's secrets.
 */
export interface ParserProcess {
  /** Rejects with MediaFailure; after `timeout`, `out_of_memory` and `crashed` the process is gone. */
  do(task: Task, timeoutMs: number): Promise<Reply>;
  readonly isGone: boolean;
  kill(): Promise<void>;
}

const ENTRY = fileURLToPath(new URL('./worker/main.js', import.meta.url));
const HEAP_SHARE = 0.6;

function start({ memoryBytes }: ProcessData): ChildProcess {
  const heap = Math.floor((memoryBytes * HEAP_SHARE) / 1024 / 1024);
  return fork(ENTRY, [JSON.stringify({ memoryBytes } satisfies ProcessData)], {
    execArgv: [`--max-old-space-size=${heap}`, '--no-warnings'],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** Why a process ended that was not told to: it kills itself over its memory, as the kernel does, and V8 aborts. */
function causeOf(code: number | null, signal: NodeJS.Signals | null): MediaFailure {
  return signal === 'SIGKILL' || signal === 'SIGABRT' || signal === 'SIGTRAP' || code === 134
    ? new MediaFailure('out_of_memory', 'reading the file took too much memory')
    : new MediaFailure('crashed', `the reader of the file ended (${signal ?? code})`);
}

export function startParserProcess(data: ProcessData): ParserProcess {
  const child = start(data);
  let gone = false;
  let settle: ((outcome: Reply | MediaFailure) => void) | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const end = (failure: MediaFailure): void => {
    gone = true;
    settle?.(failure);
  };
  child.on('message', (reply) => settle?.(reply as Reply));
  child.on('error', (cause) => end(new MediaFailure('crashed', 'the reader of files did not start', { cause })));
  child.on('exit', (code, signal) => end(causeOf(code, signal)));

  return {
    get isGone() {
      return gone;
    },
    do(task, timeoutMs) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          end(new MediaFailure('timeout', `reading the file took more than ${timeoutMs} ms`));
          child.kill('SIGKILL');
        }, timeoutMs);
        settle = (outcome) => {
          settle = undefined;
          clearTimeout(timer);
          keepAlive(child, false);
          if (outcome instanceof MediaFailure) reject(outcome);
          else resolve(outcome);
        };
        keepAlive(child, true);
        // A failure to send is followed by the exit that explains it.
        child.send(task, () => undefined);
      });
    },
    async kill() {
      end(new MediaFailure('closed', 'the reader of files is closed'));
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
