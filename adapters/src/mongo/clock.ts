import type { Log } from '@commonplace/kit/log';
import type { MongoClient, ServerHeartbeatSucceededEvent } from 'mongodb';

/** Milliseconds by which the clocks of a process and of MongoDB may differ before that is logged. */
const MAX_DIFFERENCE_MS = 5000;

/**
 * Follows the clock of MongoDB's primary by the heartbeats that the driver sends anyway. Returns a function that returns its
 * time in epoch milliseconds. A process whose own clock differs by much logs this once.
 */
export function followClock(client: Pick<MongoClient, 'on'>, log: Log): () => number {
  let offset = 0;
  let differs = false;
  client.on('serverHeartbeatSucceeded', ({ reply }: ServerHeartbeatSucceededEvent) => {
    if (!(reply.localTime instanceof Date) || reply.isWritablePrimary !== true) return;
    offset = reply.localTime.getTime() - Date.now();
    const isFar = Math.abs(offset) > MAX_DIFFERENCE_MS;
    if (isFar && !differs) log.warn('mongodb.clock_differs', { seconds: Math.round(offset / 1000) });
    differs = isFar;
  });
  return () => Date.now() + offset;
}
