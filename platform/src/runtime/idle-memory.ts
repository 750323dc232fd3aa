import { Session } from 'node:inspector/promises';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Milliseconds of a period, and the share of one in which the event loop of an idle process is busy at most. */
const PERIOD_MS = 5000;
const IDLE_SHARE = 0.02;
/** Bytes by which the heap must have grown since it was last given back. */
const WORTHWHILE_BYTES = 12 * 2 ** 20;

/**
 * Gives memory back to the system when the process has been idle for a period after it was busy. V8 keeps the room of
 * its young generation (twice `--max-semi-space-size`) and what the start has left behind until something allocates
 * again. This is the only call that makes it shrink them; it takes some 50 ms, in which nobody waits.
 */
export function giveBackIdleMemory(periodMs = PERIOD_MS): () => void {
  let utilized = performance.eventLoopUtilization();
  let kept = 0;
  const look = async () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, utilized);
    utilized = now;
    if (utilization > IDLE_SHARE || getHeapStatistics().total_heap_size < kept + WORTHWHILE_BYTES) return;
    await shrinkHeap();
    kept = getHeapStatistics().total_heap_size;
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
