import { parentPort } from 'node:worker_threads';

/** A task for the thread of `workers.test.ts`, which echoes, throws, exhausts its memory, or never ends. */
export type ThreadTask =
  | { readonly say: string }
  | { readonly fail: string }
  | { readonly fill: true }
  | { readonly spin: true };

parentPort?.on('message', (task: ThreadTask) => {
  if ('fail' in task) throw new Error(task.fail);
  if ('spin' in task) for (;;);
  if ('fill' in task) for (const all: unknown[] = []; ; ) all.push(new Array(10_000).fill({}));
  parentPort?.postMessage(task.say);
});
