import type { Log } from '@commonplace/kit/log';
import { type Collection, LostRace, type Store, type UnitOfWork } from '@commonplace/kit/store';
import { apiKeyExpiring } from '../events.js';
import { dueNotice, EARLIEST_NOTICE_MS } from '../keys/notices.js';
import { type ApiKeyRecord, endingKeys } from '../stores/api-keys.js';
import { endedSessions, type SessionRecord } from '../stores/sessions.js';

const EVERY_MS = 10 * 60_000;
const BATCH = 200;
export interface HousekeepingParts {
  readonly store: Store;
  readonly sessionRecords: Collection<SessionRecord>;
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly log: Log;
  readonly now: () => number;
}

export interface Job {
  /** Stops; waits for the round that runs. */
  close(): Promise<void>;
}

/** Runs a round now and every ten minutes; several processes may do so at once. */
export function startHousekeeping(parts: HousekeepingParts): Job {
  let round = Promise.resolve();
  const run = (): void => {
    round = round
      .then(() => keepHouse(parts))
      .catch((error: unknown) => {
        parts.log.warn('identity.housekeeping_failed', { error });
      });
  };
  const timer = setInterval(run, EVERY_MS);
  timer.unref();
  run();
  return {
    close() {
      clearInterval(timer);
      return round;
    },
  };
}

/** Drops sessions that are over, and announces the end of keys. */
export async function keepHouse(parts: HousekeepingParts): Promise<void> {
  await dropEndedSessions(parts);
  await announceEnds(parts);
}

async function dropEndedSessions({ store, sessionRecords, now }: HousekeepingParts): Promise<void> {
  const at = new Date(now()).toISOString();
  for (;;) {
    const ended = await endedSessions(sessionRecords, at, BATCH);
    await commit(store, (work) => {
      for (const session of ended) work.remove(sessionRecords, session);
    });
    if (ended.length < BATCH) return;
  }
}

/** Each notice once: the record says which was the last. */
async function announceEnds({ store, apiKeys, now }: HousekeepingParts): Promise<void> {
  const at = new Date(now()).toISOString();
  const until = new Date(now() + EARLIEST_NOTICE_MS).toISOString();
  for await (const key of endingKeys(apiKeys, at, until, BATCH)) {
    const daysLeft = dueNotice(key, now());
    if (daysLeft === undefined) continue;
    await commit(store, (work) => {
      work.publish(apiKeyExpiring(work.replace(apiKeys, key, { ...key, noticedDays: daysLeft }), daysLeft, at));
    });
  }
}

/** Another process that was faster has done the same. */
async function commit(store: Store, write: (work: UnitOfWork) => void): Promise<void> {
  const work = store.begin();
  write(work);
  if (!work.dirty) return;
  await work.commit().catch((error: unknown) => {
    if (!(error instanceof LostRace)) throw error;
  });
}
