import { startTaskProcess, type TaskProcess } from '@commonplace/kit/process';
import { MediaFailure } from './failure.js';
import type { ProcessData, Reply, Task } from './protocol.js';

/**
 * A process that parses what strangers sent, one task at a time. It is a process and not a thread, since the memory of
 * native code and of buffers has no limit in a thread, and native code can't be stopped there; it also knows none of
 * the product's secrets. A task rejects with MediaFailure; after `timeout`, `out_of_memory` and `crashed` it is gone.
 */
export type ParserProcess = TaskProcess<Task, Reply>;

const ENTRY = new URL('./worker/main.js', import.meta.url);
const HEAP_SHARE = 0.6;

const failures = {
  notStarted: (cause: unknown) => new MediaFailure('crashed', 'the reader of files did not start', { cause }),
  ended: causeOf,
  late: (timeoutMs: number) => new MediaFailure('timeout', `reading the file took more than ${timeoutMs} ms`),
  closed: () => new MediaFailure('closed', 'the reader of files is closed'),
};

/** Why a process ended that was not told to: it kills itself over its memory, as the kernel does, and V8 aborts. */
function causeOf(code: number | null, signal: NodeJS.Signals | null): MediaFailure {
  return signal === 'SIGKILL' || signal === 'SIGABRT' || signal === 'SIGTRAP' || code === 134
    ? new MediaFailure('out_of_memory', 'reading the file took too much memory')
    : new MediaFailure('crashed', `the reader of the file ended (${signal ?? code})`);
}

export function startParserProcess(about: ProcessData): ParserProcess {
  const heapMiB = Math.floor((about.memoryBytes * HEAP_SHARE) / 1024 / 1024);
  return startTaskProcess<Task, Reply>({ entry: ENTRY, about, heapMiB, failures });
}
