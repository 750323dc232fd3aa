import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { lowerProcessPriority, lowerThreadPriority } from '../src/priority/index.js';
import { systemThreadId } from '../src/workers/processor-time.js';

/** The niceness of all threads of a process, and that of its thread that has lowered its own further. */
export interface Priorities {
  readonly lowered: number;
  readonly others: readonly number[];
}

// Lowers the priority of a process that has several threads, then that of a further thread, and prints them.
if (isMainThread) {
  // Starts the threads that Node reads files in.
  await stat('.');
  lowerProcessPriority(7);
  const [id] = (await once(new Worker(new URL(import.meta.url)), 'message')) as [number];
  const others = readdirSync('/proc/self/task')
    .map(Number)
    .filter((thread) => thread !== id)
    .map((thread) => getPriority(thread));
  console.log(JSON.stringify({ lowered: getPriority(id), others } satisfies Priorities));
  process.exit();
} else {
  lowerThreadPriority(9);
  parentPort?.on('message', () => {});
  parentPort?.postMessage(systemThreadId());
}
