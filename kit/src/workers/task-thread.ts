import { Unavailable } from '../errors/index.js';
import type { TaskProcess } from '../process/index.js';
import { startThread } from '../program/index.js';
import { passOn } from './pass-on.js';
import type { ThreadStarted } from './perform-tasks.js';
import { processorMs } from './processor-time.js';

export interface ThreadFailures {
  /**
   * Creates the error for a thread that ended by itself: by an uncaught error, or because its heap was full
   * (`ERR_WORKER_OUT_OF_MEMORY`).
   */
  ended(cause: unknown): Error;
  /** Creates the error for a task that was stopped after `timeoutMs`. */
  late(timeoutMs: number): Error;
  closed(): Error;
}

/**
 * Returns failures for tasks whose cost users decide: `beyond` creates the error for one that takes more memory than its
 * thread has, or more time than `timeoutMs`; any other failure is Unavailable, and all are by default.
 */
export function failuresOfBounded(
  beyond: (cause: unknown, timeoutMs?: number) => Error = (cause) => Unavailable({}, { cause }),
): ThreadFailures {
  return {
    ended: (cause) =>
      (cause as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? beyond(cause)
        : Unavailable({}, { cause }),
    late: (timeoutMs) => beyond(new Error(`took more than ${timeoutMs} ms`), timeoutMs),
    closed: () => Unavailable({}),
  };
}

export interface TaskThreadOptions<Task> {
  /** The script; it receives tasks as messages and answers each of them with one message. */
  readonly entry: URL;
  readonly name: string;
  readonly heapMiB: number;
  readonly failures: ThreadFailures;
  /** Value that the script receives as its `workerData`. */
  readonly about?: unknown;
  /** Returns the memory of a task that is transferred to the thread. */
  transfer?(task: Task): readonly ArrayBuffer[];
}

/**
 * The share of its time that a task must have run on a processor to be called too expensive. Below, the milliseconds
 * from which on that share means anything.
 */
const RAN_SHARE = 1 / 8;
const JUDGED_MS = 100;

/**
 * Starts a thread that runs one task at a time; `startTaskProcess` does the same with a process. A task that was stopped
 * in time although other work of the machine left it hardly any is Unavailable: it may succeed later.
 */
export function startTaskThread<Task, Reply>(options: TaskThreadOptions<Task>): TaskProcess<Task, Reply> {
  const { entry, name, heapMiB, failures, about } = options;
  const resourceLimits = { maxOldGenerationSizeMb: heapMiB };
  const thread = startThread(entry, { name, workerData: about, resourceLimits });
  thread.unref();
  let gone = false;
  let isOnline = false;
  let cause: unknown;
  thread.once('online', () => {
    isOnline = true;
  });
  let settle: ((outcome: { reply: Reply } | { failure: Error }) => void) | undefined;
  const end = (failure: Error): void => {
    gone = true;
    settle?.({ failure });
  };
  let threadId: number | undefined;
  thread.on('message', (message: Reply | ThreadStarted) => {
    if (isStarted(message)) threadId = message.systemThreadId;
    else passOn(() => settle?.({ reply: message }));
  });
  thread.on('error', (error) => {
    cause = error;
  });
  thread.on('exit', () => end(failures.ended(cause)));

  return {
    get isGone() {
      return gone;
    },
    do(task, timeoutMs) {
      return new Promise((resolve, reject) => {
        let timer: NodeJS.Timeout | undefined;
        const stop = (isStarved: boolean) => {
          end(isStarved ? Unavailable({}) : failures.late(timeoutMs));
          void thread.terminate();
        };
        // Reads the processor time of the second half, which most tasks never reach.
        const half = timeoutMs / 2;
        const count = () => {
          timer = setTimeout(() => {
            const before = processorMs(threadId);
            timer = setTimeout(() => {
              const ran = (processorMs(threadId) ?? Number.POSITIVE_INFINITY) - (before ?? 0);
              stop(half >= JUDGED_MS && ran < half * RAN_SHARE);
            }, half);
          }, half);
        };
        // The start of a thread, which takes seconds on a busy machine, is not the task's fault.
        if (isOnline) count();
        else thread.once('online', count);
        settle = (outcome) => {
          settle = undefined;
          thread.off('online', count);
          clearTimeout(timer);
          thread.unref();
          if ('failure' in outcome) reject(outcome.failure);
          else resolve(outcome.reply);
        };
        thread.ref();
        thread.postMessage(task, options.transfer?.(task));
      });
    },
    async kill() {
      end(failures.closed());
      await thread.terminate();
    },
  };
}

function isStarted(message: unknown): message is ThreadStarted {
  return typeof message === 'object' && message !== null && 'systemThreadId' in message;
}
