import { setTimeout as sleep } from 'node:timers/promises';
import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { createStoredLimit, usageCollection } from '@commonplace/kit/limits';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { WrongPassword } from '../src/errors.js';
import {
  createMailThrottle,
  createThrottle,
  type MailThrottle,
  PASSWORD_ATTEMPT_FACTORS,
  type Throttle,
} from '../src/throttle.js';

const TRIES = 10;
const REQUESTS = 5;
const spec = usageCollection('limits');

let database: TestDatabase;
beforeEach(async () => {
  database = await openTestDatabase();
});
afterEach(async () => {
  await database.close();
});

interface Replica {
  readonly sign: Throttle;
  readonly mail: MailThrottle;
}

/** Creates the throttles of one replica of the service, on the shared store. */
async function replica(): Promise<Replica> {
  const store = database.store('identity');
  const limits = createStoredLimit({ store, records: await store.collection(spec), now: Date.now, oneQueue: true });
  return {
    sign: createThrottle(limits, { name: 'password', tries: TRIES, ipv6Prefix: 64, factors: PASSWORD_ATTEMPT_FACTORS }),
    mail: createMailThrottle(limits, REQUESTS, 64),
  };
}

/**
 * Tries wrong passwords concurrently, spread over replicas. Returns the number that were compared, and the
 * outcomes.
 */
async function guessAtOnce(replicas: readonly Replica[], count: number, who: (i: number) => [string, string]) {
  let compared = 0;
  const wrong = async () => {
    compared++;
    await sleep(5);
    throw WrongPassword();
  };
  const outcomes = await Promise.all(
    Array.from({ length: count }, (_, i) => {
      const [email, clientIp] = who(i);
      const { sign } = replicas[i % replicas.length] as Replica;
      return sign.attempt({ email, clientIp }, wrong).catch(({ reason }: { reason: string }) => reason);
    }),
  );
  return { compared, wrong: outcomes.filter((one) => one === 'invalid_credentials').length };
}

describe('failed attempts over several replicas', () => {
  test('are checked exactly as often as the limit allows, per network and per account', async () => {
    const replicas = await Promise.all(Array.from({ length: 4 }, replica));
    const ofPlace = await guessAtOnce(replicas, 120, (i) => [`user${i}@example.com`, '192.0.2.1']);
    expect(ofPlace).toEqual({ compared: TRIES * 5, wrong: TRIES * 5 });
    const ofAccount = await guessAtOnce(replicas, 200, (i) => ['ada@example.com', `198.51.100.${i}`]);
    expect(ofAccount).toEqual({ compared: TRIES * 10, wrong: TRIES * 10 });
  });

  test('are not counted if the attempt succeeds', async () => {
    const replicas = await Promise.all(Array.from({ length: 2 }, replica));
    for (let i = 0; i < 3 * TRIES; i++) {
      const { sign } = replicas[i % 2] as Replica;
      expect(await sign.attempt({ email: 'ada@example.com', clientIp: '192.0.2.1' }, async () => i)).toBe(i);
    }
  });
});

describe('concurrent attempts that succeed', () => {
  const who = { email: 'ada@example.com', clientIp: '192.0.2.1' };

  test('wait for each other instead of being refused', async () => {
    const { sign } = await replica();
    let most = 0;
    let now = 0;
    const right = async () => {
      most = Math.max(most, ++now);
      await sleep(5);
      now--;
      return 'signed in';
    };
    const outcomes = await Promise.all(Array.from({ length: 5 * TRIES }, () => sign.attempt(who, right)));
    expect(outcomes).toEqual(outcomes.map(() => 'signed in'));
    expect(most).toBe(TRIES);
  });

  test('are refused at once in a flood of attempts', async () => {
    const { sign } = await replica();
    const ended = Array.from({ length: 100 }, () => sign.attempt(who, () => sleep(500)));
    const refused = (await Promise.allSettled(ended)).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(100 - TRIES - 50);
  });

  test('are refused once those before them have failed', async () => {
    const one = await replica();
    const wrong = guessAtOnce([one], 2 * TRIES, () => [who.email, who.clientIp]);
    const right = one.sign.attempt(who, async () => 'signed in');
    await expect(right).rejects.toMatchObject({ reason: 'rate_limited' });
    expect(await wrong).toEqual({ compared: TRIES, wrong: TRIES });
  });
});

describe('attempts without an account', () => {
  test('count only for their network', async () => {
    const one = await replica();
    const attacker = await guessAtOnce([one], 300, (i) => ['', `198.51.100.${i % 250}`]);
    expect(attacker.compared).toBe(300);
    expect(await guessAtOnce([one], 80, () => ['', '192.0.2.1'])).toMatchObject({ compared: TRIES * 5 });
    const ran = await one.sign.attempt({ email: '', clientIp: '203.0.113.1' }, async () => 'done');
    expect(ran).toBe('done');
  });

  test('also run if their network is not known', async () => {
    const one = await replica();
    for (let i = 0; i < 12 * TRIES; i++) await guessAtOnce([one], 1, () => ['', '']);
    expect(await one.sign.attempt({ email: ' ', clientIp: '' }, async () => 'done')).toBe('done');
  });
});

test('limits requests for e-mail over all replicas', async () => {
  const replicas = await Promise.all(Array.from({ length: 3 }, replica));
  const ask = (count: number, who: (i: number) => [string, string]) =>
    Promise.all(
      Array.from({ length: count }, (_, i) => {
        const [email, clientIp] = who(i);
        const { mail } = replicas[i % 3] as Replica;
        return mail.spend({ email, clientIp }).then(
          () => 'sent',
          ({ reason, details }) => `${reason} ${details.policy} ${details.limit} ${details.window_seconds}`,
        );
      }),
    );
  const sent = (all: string[]) => all.filter((one) => one === 'sent').length;
  const ofAddress = await ask(30, (i) => ['ada@example.com', `198.51.100.${i}`]);
  expect(sent(ofAddress)).toBe(REQUESTS);
  expect(ofAddress).toContain(`rate_limited mail ${REQUESTS} 3600`);
  expect(sent(await ask(90, (i) => [`user${i}@example.com`, '192.0.2.1']))).toBe(REQUESTS * 10);
});
