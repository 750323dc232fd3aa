import { Session } from 'node:inspector/promises';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Milliseconds of a period, and the share of one in which the event loop of an idle process is busy at most. */
const PERIOD_MS = 5000;
const IDLE_SHARE = 0.02;
/**
 * Number of idle periods in a row before memory is returned, after a start and later. The collection also discards
 * machine code: a process that is asked again soon takes twice the processor time for some thousands of requests. After
 * a start there is hardly any.
 */
const AFTER_START = 1;
const AFTER_WORK = 24;
/** Bytes by which the heap must have grown since memory was last returned to the system. */
const WORTHWHILE_BYTES = 12 * 2 ** 20;

/**
 * Returns memory to the system when the process has been idle for some periods after it was busy. V8 keeps the memory of
 * its young generation (twice `--max-semi-space-size`) and garbage of the start until something allocates again. Only
 * this call makes V8 shrink them. It takes about 50 ms, while no request waits.
 */
export function giveBackIdleMemory(periodMs = PERIOD_MS, { afterWork = AFTER_WORK } = {}): () => void {
  let utilized = performance.eventLoopUtilization();
  let kept = 0;
  let idlePeriods = 0;
  let needed = AFTER_START;
  const look = async () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, utilized);
    utilized = now;
    idlePeriods = utilization > IDLE_SHARE ? 0 : idlePeriods + 1;
    if (idlePeriods < needed || getHeapStatistics().total_heap_size < kept + WORTHWHILE_BYTES) return;
    await shrinkHeap();
    kept = getHeapStatistics().total_heap_size;
    needed = afterWork;
    idlePeriods = 0;
    utilized = performance.eventLoopUtilization();
  };
  const timer = setInterval(() => void look(), periodMs).unref();
  return () => clearInterval(timer);
}

async function shrinkHeap(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}
