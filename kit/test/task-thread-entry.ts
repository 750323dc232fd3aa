import { parentPort } from 'node:worker_threads';
import { systemThreadId } from '../src/workers/processor-time.js';

/** A task for the thread of `workers.test.ts`, which echoes, throws, exhausts its memory, never ends, or never runs. */
export type ThreadTask =
  | { readonly say: string }
  | { readonly fail: string }
  | { readonly fill: true }
  | { readonly spin: true }
  | { readonly wait: true };

parentPort?.postMessage({ systemThreadId: systemThreadId() });
parentPort?.on('message', (task: ThreadTask) => {
  if ('fail' in task) throw new Error(task.fail);
  if ('spin' in task) for (;;);
  if ('wait' in task) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if ('fill' in task) for (const all: unknown[] = []; ; ) all.push(new Array(10_000).fill({}));
  if ('say' in task) parentPort?.postMessage(task.say);
});
