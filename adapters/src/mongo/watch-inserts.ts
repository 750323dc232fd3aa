import type { ChangeStream, Db } from 'mongodb';

/** Milliseconds that the server waits for an insert before it answers that there was none. */
const WAIT_MS = 10_000;
/** Milliseconds before a failed change stream is opened again. */
const REOPEN_DELAY_MS = 1000;

/**
 * Calls back when any process inserts into a collection, between `start` and `stop`. The callback is a hint and may be
 * missed.
 */
export function watchInserts(db: Db, name: string, onInsert: () => void) {
  let stream: ChangeStream | undefined;
  let timer: NodeJS.Timeout | undefined;
  let wanted = false;
  const open = (): void => {
    const inserts = [{ $match: { operationType: 'insert' } }, { $project: { _id: 1 } }];
    const opened = db.collection(name).watch(inserts, { maxAwaitTimeMS: WAIT_MS });
    stream = opened;
    opened.on('change', onInsert);
    opened.on('error', () => {
      opened.close().catch(() => {});
      if (!wanted) return;
      timer = setTimeout(() => {
        open();
        // There may have been inserts while nothing watched.
        onInsert();
      }, REOPEN_DELAY_MS);
    });
  };
  return {
    start: (): void => {
      if (wanted) return;
      wanted = true;
      open();
    },
    stop: async (): Promise<void> => {
      wanted = false;
      clearTimeout(timer);
      await stream?.close().catch(() => {});
    },
  };
}
