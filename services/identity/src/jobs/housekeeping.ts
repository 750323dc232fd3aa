import { createPeriodic, type Periodic, runEach } from '@commonplace/kit/jobs';
import type { StoredLimit } from '@commonplace/kit/limits';
import type { Log } from '@commonplace/kit/log';
import type { Envelope } from '@commonplace/kit/secrets';
import { type Collection, findEach, LostRace, type Store, type UnitOfWork } from '@commonplace/kit/store';
import { apiKeyExpiring } from '../events.js';
import { dueNotice, EARLIEST_NOTICE_MS } from '../keys/notices.js';
import { secretOwner } from '../security/second-factor.js';
import { type ApiKeyRecord, endingKeys } from '../stores/api-keys.js';
import type { SecondFactorRecord } from '../stores/second-factors.js';

const EVERY_MS = 10 * 60_000;
const BATCH = 200;
interface HousekeepingParts {
  readonly store: Store;
  readonly secondFactors: Collection<SecondFactorRecord>;
  readonly envelope: Envelope;
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly limits: Pick<StoredLimit, 'dropDrained'>;
  readonly log: Log;
  readonly now: () => number;
}

/** Creates the job that runs at startup and every ten minutes. Several processes may run it concurrently. */
export function createHousekeeping(parts: HousekeepingParts): Periodic {
  const { log } = parts;
  return createPeriodic({ name: 'identity.housekeeping', everyMs: EVERY_MS, log, run: () => runHousekeeping(parts) });
}

/**
 * Sends notices of expiring keys, re-encrypts secrets, and deletes rate limit records that no longer count
 * anything.
 */
export async function runHousekeeping(parts: HousekeepingParts): Promise<void> {
  const dropLimits = () => parts.limits.dropDrained();
  await runEach<() => Promise<unknown>>([dropLimits, () => announceEnds(parts), () => renewSeals(parts)], (work) =>
    work(),
  );
}

/**
 * Re-encrypts the secrets of second factors with the current key, so that an old COMMONPLACE_SECRET_KEY can be
 * removed.
 */
function renewSeals({ store, secondFactors, envelope }: HousekeepingParts): Promise<void> {
  return runEach(findEach(secondFactors, { where: {} }, BATCH), async (record) => {
    const { id, totp } = record;
    if (totp === undefined || envelope.isCurrent(totp.secret)) return;
    const secret = envelope.rewrap(totp.secret, secretOwner(id));
    await commit(store, (work) => work.replace(secondFactors, record, { ...record, totp: { ...totp, secret } }));
  });
}

/** Publishes each notice once: the key's record stores the last one sent. */
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

/** Commits a unit of work. A lost race means that another process has done the same, and is ignored. */
async function commit(store: Store, write: (work: UnitOfWork) => void): Promise<void> {
  const work = store.begin();
  write(work);
  if (!work.dirty) return;
  await work.commit().catch((error: unknown) => {
    if (!(error instanceof LostRace)) throw error;
  });
}
