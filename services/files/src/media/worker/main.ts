import { setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { MediaFailure } from '../failure.js';
import type { Outcome, ProcessData, Reply, Task } from '../protocol.js';
import { isTrap } from './trap.js';
import type { WatchdogData } from './watchdog.js';

/** The process that parses files: it takes one task after the other and ends with the process that started it. */
const NICE = 10;

const { memoryBytes } = JSON.parse(process.argv[2] ?? '{}') as ProcessData;
// Where processors are short, those who wait for an answer go before a file's text.
setPriority(NICE);
const watch: WatchdogData = { memoryBytes, parent: process.ppid };
new Worker(new URL('./watchdog.js', import.meta.url), { workerData: watch }).unref();

/** Set when a WebAssembly module stopped half-way: nothing is known of its state. */
let isSpoilt = false;

async function perform(task: Task): Promise<Outcome> {
  try {
    if (task.kind === 'thumbnail') return { value: await (await import('./thumbnail.js')).createThumbnail(task) };
    if (task.kind === 'page') return { value: await (await import('./page.js')).readPage(task) };
    if (task.kind === 'sheet') return { value: await (await import('./sheet.js')).readSheetTask(task) };
    return { value: await (await import('./text.js')).readText(task) };
  } catch (error) {
    if (error instanceof MediaFailure) return { reason: error.reason, message: error.message };
    isSpoilt ||= isTrap(error);
    return { reason: 'broken', message: error instanceof Error ? error.message.slice(0, 500) : 'unknown' };
  }
}

process.on('message', async (task: Task) => {
  const outcome = await perform(task);
  // A WebAssembly heap never shrinks: what a large file took is given back with the process.
  const isSpent = isSpoilt || process.memoryUsage.rss() > memoryBytes / 2;
  process.send?.({ ...outcome, isSpent } satisfies Reply);
});
process.on('disconnect', () => process.exit());
// A parser that fails beside its promise says nothing about the next file, so the process goes.
process.on('unhandledRejection', () => process.exit(1));
