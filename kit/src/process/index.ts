import { type ChildProcess, fork } from 'node:child_process';

/** A process that runs one task at a time; the next one may only be sent when the previous one has ended. */
export interface TaskProcess<Task, Reply> {
  /** Runs a task for at most `timeoutMs`. Rejects with an error of `failures`; the process has ended then. */
  do(task: Task, timeoutMs: number): Promise<Reply>;
  readonly isGone: boolean;
  /** Kills the process and its task; resolves when it has ended. */
  kill(): Promise<void>;
}

/** Creates the errors with which tasks reject. */
interface TaskFailures {
  notStarted(cause: unknown): Error;
  ended(code: number | null, signal: NodeJS.Signals | null): Error;
  late(timeoutMs: number): Error;
  closed(): Error;
}

interface TaskProcessOptions {
  /** The script; it receives tasks as messages and answers each of them with one message. */
  readonly entry: URL;
  /** JSON that is passed to the script as its only argument. */
  readonly about: unknown;
  readonly heapMiB: number;
  readonly failures: TaskFailures;
}

/**
 * Starts a process for work whose memory is only released with its process, or that has to be stopped from outside. It
 * does not inherit this process's environment, and only a running task keeps this process alive.
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
        // A failure to send is followed by the exit event that explains it.
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

/** Keeps this process alive only during a task and while waiting for the end. */
function keepAlive(child: ChildProcess, on: boolean): void {
  if (on) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}
