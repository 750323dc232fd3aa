import type { Log } from '@commonplace/kit/log';
import type { MongoClient, ServerHeartbeatSucceededEvent } from 'mongodb';

/** Milliseconds by which the clocks of a process and of MongoDB may differ before that is logged. */
const MAX_DIFFERENCE_MS = 5000;
/** Differences in milliseconds that count as none, because the clocks of most machines agree to some milliseconds. */
const TOLERANCE_MS = 1000;
/** Number of heartbeats, one each ten seconds, that determine the difference. */
const HEARTBEATS = 6;

/**
 * Follows the clock of MongoDB's primary by the heartbeats that the driver sends anyway. Returns a function that returns its
 * time in epoch milliseconds. A process whose own clock differs by much logs this once.
 *
 * A heartbeat that a busy process reads late makes MongoDB's clock seem to be behind, and never ahead. So the difference
 * is the largest of the last ones; otherwise a process that was busy for a moment would let its leases end too early.
 */
export function followClock(client: Pick<MongoClient, 'on'>, log: Log): () => number {
  const measured: number[] = [];
  let offset = 0;
  let differs = false;
  client.on('serverHeartbeatSucceeded', ({ reply }: ServerHeartbeatSucceededEvent) => {
    if (!(reply.localTime instanceof Date) || reply.isWritablePrimary !== true) return;
    measured.push(reply.localTime.getTime() - Date.now());
    if (measured.length > HEARTBEATS) measured.shift();
    const difference = Math.max(...measured);
    offset = Math.abs(difference) < TOLERANCE_MS ? 0 : difference;
    const isFar = Math.abs(offset) > MAX_DIFFERENCE_MS;
    if (isFar && !differs) log.warn('mongodb.clock_differs', { seconds: Math.round(offset / 1000) });
    differs = isFar;
  });
  return () => Date.now() + offset;
}
