import { parentPort } from 'node:worker_threads';
import { lowerThreadPriority } from '../priority/index.js';
import { systemThreadId } from './processor-time.js';
import { answerTask, transferablesIn } from './task-answer.js';

/** The first message of a thread, before its answers. */
export interface ThreadStarted {
  readonly systemThreadId: number | undefined;
}

interface PerformOptions {
  /** Whether large byte arrays of answers are transferred instead of copied. Finding them takes time. */
  readonly transfers?: boolean;
  /** Whether requests wait for this thread as they do for the event loop, so that its priority stays as it is. */
  readonly isUrgent?: boolean;
}

/**
 * Makes the calling worker thread perform the tasks that it receives, and answer each. On Linux its OS priority is
 * lowered, so that requests that need no thread go first where processors are scarce.
 */
export function performTasks<Task>(perform: (task: Task) => unknown, options: PerformOptions = {}): void {
  const { transfers = false, isUrgent = false } = options;
  const port = parentPort;
  if (port === null) throw new Error('must run in a worker thread');
  if (!isUrgent) lowerThreadPriority(5);
  port.postMessage({ systemThreadId: systemThreadId() } satisfies ThreadStarted);
  port.on('message', (task: Task) => {
    void answerTask(() => perform(task)).then((answer) =>
      port.postMessage(answer, transfers ? transferablesIn(answer) : undefined),
    );
  });
}
