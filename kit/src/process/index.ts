import { type ChildProcess, fork } from 'node:child_process';

/** A process that does one task at a time: a second is given to it once the first is over. */
export interface TaskProcess<Task, Reply> {
  /** Rejects with what `failures` makes; the process is gone then. `timeoutMs` is how long the task may take. */
  do(task: Task, timeoutMs: number): Promise<Reply>;
  readonly isGone: boolean;
  /** Ends it, and the task with it; resolves when it has ended. */
  kill(): Promise<void>;
}

/** What a task is rejected with. */
export interface TaskFailures {
  notStarted(cause: unknown): Error;
  ended(code: number | null, signal: NodeJS.Signals | null): Error;
  late(timeoutMs: number): Error;
  closed(): Error;
}

export interface TaskProcessOptions {
  /** The script; it gets tasks as messages, and answers each with one. */
  readonly entry: URL;
  /** What the script is told as its one argument, as JSON. */
  readonly about: unknown;
  readonly heapMiB: number;
  readonly failures: TaskFailures;
}

/**
 * Starts a process for work whose memory comes back only with a process, or that has to be stopped from outside. It
 * knows nothing of this one's environment, and nothing but a task keeps this one running.
 */
export function startTaskProcess<Task extends object, Reply>(options: TaskProcessOptions): TaskProcess<Task, Reply> {
  const { failures } = options;
  const child = start(options);
  let gone = false;
  let settle: ((outcome: { reply: Reply } | { failure: Error }) => void) | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const end = (failure: Error): void => {
    gone = true;
    settle?.({ failure });
  };
  child.on('message', (reply) => settle?.({ reply: reply as Reply }));
  child.on('error', (cause) => end(failures.notStarted(cause)));
  child.on('exit', (code, signal) => end(failures.ended(code, signal)));

  return {
    get isGone() {
      return gone;
    },
    do(task, timeoutMs) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          end(failures.late(timeoutMs));
          child.kill('SIGKILL');
        }, timeoutMs);
        settle = (outcome) => {
          settle = undefined;
          clearTimeout(timer);
          keepAlive(child, false);
          if ('failure' in outcome) reject(outcome.failure);
          else resolve(outcome.reply);
        };
        keepAlive(child, true);
        // A failure to send is followed by the exit that explains it.
        child.send(task, () => undefined);
      });
    },
    async kill() {
      end(failures.closed());
      keepAlive(child, true);
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function start({ entry, about, heapMiB }: TaskProcessOptions): ChildProcess {
  return fork(entry, [JSON.stringify(about)], {
    execArgv: [`--max-old-space-size=${heapMiB}`, '--no-warnings'],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** Only a task, and waiting for the end, keep this process running. */
function keepAlive(child: ChildProcess, on: boolean): void {
  if (on) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}
