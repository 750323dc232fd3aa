import { startTaskProcess, type TaskProcess } from '@commonplace/kit/process';
import { MediaFailure } from './failure.js';
import type { ProcessData, Reply, Task } from './protocol.js';

/**
 * A process that parses untrusted files, one task at a time. It is a process rather than a thread because the memory of
 * native code and of buffers can't be limited in a thread, and native code can't be stopped there; it also has none of
 * the product's secrets. A task rejects with `MediaFailure`; the process is gone after `timeout`, `out_of_memory` and
 * `crashed`.
 */
type ParserProcess = TaskProcess<Task, Reply>;

const ENTRY = new URL('./worker/main.js', import.meta.url);
const HEAP_SHARE = 0.6;

const failures = {
  notStarted: (cause: unknown) => new MediaFailure('crashed', 'the file reader did not start', { cause }),
  ended: causeOf,
  late: (timeoutMs: number) => new MediaFailure('timeout', `reading the file took more than ${timeoutMs} ms`),
  closed: () => new MediaFailure('closed', 'the file reader is closed'),
};

/**
 * Returns why a process ended unexpectedly. Too much memory ends it with SIGKILL, by itself or the kernel, or with an
 * abort of V8.
 */
function causeOf(code: number | null, signal: NodeJS.Signals | null): MediaFailure {
  return signal === 'SIGKILL' || signal === 'SIGABRT' || signal === 'SIGTRAP' || code === 134
    ? new MediaFailure('out_of_memory', 'reading the file took too much memory')
    : new MediaFailure('crashed', `the file reader ended (${signal ?? code})`);
}

export function startParserProcess(about: ProcessData): ParserProcess {
  const heapMiB = Math.floor((about.memoryBytes * HEAP_SHARE) / 1024 / 1024);
  return startTaskProcess<Task, Reply>({ entry: ENTRY, about, heapMiB, failures });
}
