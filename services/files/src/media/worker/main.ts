import { Worker } from 'node:worker_threads';
import { lowerProcessPriority } from '@commonplace/kit/priority';
import { MediaFailure } from '../failure.js';
import type { Outcome, ProcessData, Reply, Task } from '../protocol.js';
import { isTrap } from './trap.js';
import type { WatchdogData } from './watchdog.js';

/** The process that parses files: it handles one task after the other and ends with its parent process. */
const NICE = 10;

const { memoryBytes } = JSON.parse(process.argv[2] ?? '{}') as ProcessData;
// Requests that a user waits for take precedence over extracting text when processors are scarce.
lowerProcessPriority(NICE);
const watch: WatchdogData = { memoryBytes, parent: process.ppid };
new Worker(new URL('./watchdog.js', import.meta.url), { workerData: watch }).unref();

/** Set when a WebAssembly module stopped half-way, since its state is then unknown. */
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
  // A WebAssembly heap never shrinks: only ending the process frees what a large file took.
  const isSpent = isSpoilt || process.memoryUsage.rss() > memoryBytes / 2;
  process.send?.({ ...outcome, isSpent } satisfies Reply);
});
process.on('disconnect', () => process.exit());
// A parser that fails outside its promise may affect the next file, so the process ends.
process.on('unhandledRejection', () => process.exit(1));
