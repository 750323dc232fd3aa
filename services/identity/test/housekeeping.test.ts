import { silentLog } from '@commonplace/kit/log';
import { createEnvelope } from '@commonplace/kit/secrets';
import { removeExpired } from '@commonplace/kit/store';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { deriveKeys, parseSecrets } from '../src/domain/secrets.js';
import { runHousekeeping } from '../src/jobs/housekeeping.js';
import { dueNotice } from '../src/keys/notices.js';
import { apiKeyCollection, endingKeys, whereStatus } from '../src/stores/api-keys.js';
import { secondFactorCollection } from '../src/stores/second-factors.js';
import { sessionCollection } from '../src/stores/sessions.js';
import { userCollection } from '../src/stores/users.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';
import { makeKey, signUp } from './support/people.js';

const DAY = 86_400_000;
let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open' });
});
afterEach(() => harness.close());

const collections = async () => ({
  apiKeys: await harness.store.collection(apiKeyCollection),
  sessionRecords: await harness.store.collection(sessionCollection),
  secondFactors: await harness.store.collection(secondFactorCollection),
  envelope: createEnvelope(deriveKeys(parseSecrets(SECRET)).envelope),
  users: await harness.store.collection(userCollection),
});
const round = async () =>
  runHousekeeping({
    ...(await collections()),
    store: harness.store,
    limits: { dropDrained: async () => {} },
    log: silentLog,
    now: harness.now,
  });
const expire = () => removeExpired(harness.store, new Date(harness.now()).toISOString());

describe('housekeeping', () => {
  test('deletes expired sessions and no others', async () => {
    const ada = await signUp(harness, 'Ada');
    harness.pass(29 * DAY);
    await signUp(harness, 'Bob');
    await expire();
    const { sessionRecords, users } = await collections();
    expect(await sessionRecords.count({})).toBe(2);
    harness.pass(DAY);
    await expire();
    const [left] = await sessionRecords.find({ where: {}, limit: 10 });
    expect(await sessionRecords.count({})).toBe(1);
    expect(left?.userId).not.toBe(ada.id);
    expect(await users.count({})).toBe(2);
  });

  test('continues after a task that fails, and logs the failure', async () => {
    const { session } = await signUp(harness, 'Ada');
    await makeKey(harness, session, { name: 'short', expiresAt: new Date(harness.now() + 2 * DAY).toISOString() });
    harness.pass(1.5 * DAY);
    const dropDrained = async () => {
      throw new Error('the limits can not be read');
    };
    const parts = { ...(await collections()), store: harness.store, log: silentLog, now: harness.now };
    await expect(runHousekeeping({ ...parts, limits: { dropDrained } })).rejects.toThrow('the limits can not be read');
    const { apiKeys } = await collections();
    const [key] = await apiKeys.find({ where: { name: 'short' }, limit: 1 });
    expect(key?.noticedDays).toBeDefined();
  });

  test('notifies about the expiry of a key once per notice', async () => {
    const seen: unknown[] = [];
    await harness.bus.subscribe(
      { consumer: 'test', types: ['commonplace.identity.api_key.expiring'] },
      async (events) => {
        seen.push(...events.map(({ data }) => [data.name, data.daysLeft]));
      },
    );
    const { session } = await signUp(harness, 'Ada');
    const ends = (days: number) => new Date(harness.now() + days * DAY).toISOString();
    await makeKey(harness, session, { name: 'long', expiresAt: ends(20) });
    await makeKey(harness, session, { name: 'short', expiresAt: ends(2) });
    await makeKey(harness, session, { name: 'endless' });
    for (const days of [0, 1.5, 4.5, 1, 9, 2, 1.5, 1]) {
      harness.pass(days * DAY);
      await round();
      await round();
    }
    while ((await harness.bus.lag('test')) > 0) await new Promise((done) => setTimeout(done, 5));
    expect(seen).toEqual([
      ['short', 0],
      ['long', 14],
      ['long', 3],
      ['long', 0],
    ]);
  });

  test('skips a notice from before the key was created', () => {
    const now = Date.parse('2026-01-10T00:00:00.000Z');
    const key = (created: string, expires: string) => ({
      createdAt: `${created}T00:00:00.000Z`,
      expiresAt: `${expires}T00:00:00.000Z`,
    });
    expect(dueNotice(key('2026-01-10', '2026-01-12'), now)).toBeUndefined();
    expect(dueNotice(key('2025-01-10', '2026-01-12'), now)).toBe(3);
    expect(dueNotice({ ...key('2025-01-10', '2026-01-12'), noticedDays: 3 }, now)).toBeUndefined();
    expect(dueNotice({ ...key('2025-01-10', '2026-01-12'), noticedDays: 14 }, now)).toBe(3);
    expect(dueNotice(key('2025-01-10', '2026-03-01'), now)).toBeUndefined();
  });
});

describe('every query', () => {
  test('uses an index', async () => {
    const { apiKeys, sessionRecords, users } = await collections();
    const at = new Date().toISOString();
    const newest = ['-createdAt'] as const;
    const status = (name?: 'active' | 'expired') => whereStatus(name, at);
    const plans = [
      users.explain({ where: { emailKey: 'x' }, limit: 1 }),
      users.explain({ where: { emailKey: { in: ['x', 'y'] } }, limit: 2 }),
      users.explain({ where: {}, limit: 1 }),
      sessionRecords.explain({ where: { expiresAt: { lte: at } }, sort: ['expiresAt'], limit: 10 }),
      apiKeys.explain({ where: { publicId: 'x' }, limit: 1 }),
      apiKeys.explain({ where: { and: [{ tenant: 'x' }, status()] }, sort: newest, limit: 10 }),
      apiKeys.explain({ where: { and: [{ tenant: 'x' }, status('active')] }, sort: newest, limit: 10 }),
      apiKeys.explain({ where: { and: [{ actingUserId: 'x' }, status('expired')] }, sort: newest, limit: 10 }),
      apiKeys.explain({ where: { tenant: 'x', actingUserId: 'y', ...status() }, sort: newest, limit: 10 }),
      apiKeys.explain({
        where: { state: 'active', expiresAt: { gt: at, lte: at } },
        sort: ['expiresAt'],
        limit: 10,
      }),
    ];
    expect((await Promise.all(plans)).filter(({ indexed }) => !indexed)).toEqual([]);
    const found = [];
    for await (const key of endingKeys(apiKeys, at, at, 1)) found.push(key);
    expect(found).toEqual([]);
  });
});
