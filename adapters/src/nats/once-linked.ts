import { setTimeout as sleep } from 'node:timers/promises';
import type { Subscription } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { Connection } from './connection.js';

/** Milliseconds between two attempts to open a subscription after the first connection. */
const RETRY_MS = 1000;

/**
 * Opens a subscription. Before the first connection it returns one that is opened at that moment, so that a process can
 * start while the broker is away; listeners of `onReconnect` are called then, because they may have missed events.
 */
export async function openOnceLinked(
  connection: Connection,
  open: () => Promise<Subscription>,
  log: Log,
): Promise<Subscription> {
  if (connection.isLinked) return open();
  let closed = false;
  let opening: Promise<Subscription | undefined> | undefined;
  const openPatiently = async (): Promise<Subscription | undefined> => {
    while (!closed) {
      try {
        const opened = await open();
        connection.interrupted();
        return opened;
      } catch (error) {
        log.warn('events.interrupted', { error });
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
    return undefined;
  };
  const forget = connection.onceLinked(() => {
    opening = openPatiently();
  });
  return {
    async close() {
      closed = true;
      forget();
      await (await opening)?.close();
    },
  };
}
