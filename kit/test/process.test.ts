import { afterEach, expect, test } from '@jest/globals';
import { startTaskProcess, type TaskProcess } from '../src/process/index.js';

type Task = { readonly say: Uint8Array } | { readonly exit: number } | { readonly wait: true };
interface Reply {
  readonly name: string;
  readonly said: Uint8Array;
  readonly secrets: readonly string[];
}

const PATIENCE_MS = 30_000;
const failures = {
  notStarted: () => new Error('not started'),
  ended: (code: number | null, signal: NodeJS.Signals | null) => new Error(`ended ${signal ?? code}`),
  late: (timeoutMs: number) => new Error(`late ${timeoutMs}`),
  closed: () => new Error('closed'),
};
const started: TaskProcess<Task, Reply>[] = [];
function start(file = './task-process-entry.js'): TaskProcess<Task, Reply> {
  const entry = new URL(file, import.meta.url);
  const child = startTaskProcess<Task, Reply>({ entry, about: { name: 'echo' }, heapMiB: 64, failures });
  started.push(child);
  return child;
}
afterEach(async () => {
  await Promise.all(started.splice(0).map((child) => child.kill()));
});

test('a process runs one task at a time, passes bytes as bytes and inherits no environment', async () => {
  const child = start();
  for (const byte of [1, 2]) {
    const reply = await child.do({ say: new Uint8Array([byte]) }, PATIENCE_MS);
    expect(reply).toEqual({ name: 'echo', said: new Uint8Array([byte]), secrets: [] });
  }
  expect(child.isGone).toBe(false);
});

test('a task that ends its process rejects with how it ended', async () => {
  const child = start();
  await expect(child.do({ exit: 7 }, PATIENCE_MS)).rejects.toThrow('ended 7');
  expect(child.isGone).toBe(true);
});

test('a task that takes too long ends with the process', async () => {
  const child = start();
  await expect(child.do({ wait: true }, 50)).rejects.toThrow('late 50');
  expect(child.isGone).toBe(true);
});

test('a task whose process is killed rejects', async () => {
  const child = start();
  const task = child.do({ wait: true }, PATIENCE_MS);
  const rejection = expect(task).rejects.toThrow('closed');
  await child.kill();
  await rejection;
  expect(child.isGone).toBe(true);
});

test('a missing script ends the process', async () => {
  await expect(start('./nowhere.js').do({ wait: true }, PATIENCE_MS)).rejects.toThrow('ended 1');
});
