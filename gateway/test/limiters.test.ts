import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { createStoredLimit, usageCollection } from '@commonplace/kit/limits';
import { eventually } from '@commonplace/kit/testing';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createSharedLimiters, type Limiter, type TakeSlice } from '../src/middleware/limiters.js';

let database: TestDatabase;
let batchRequests = 0;
beforeEach(async () => {
  database = await openTestDatabase();
  batchRequests = 0;
});
afterEach(async () => {
  await database.close();
});

/** Creates the shared count that every gateway uses. */
async function openCount(now: () => number = Date.now): Promise<TakeSlice> {
  const store = database.store('identity');
  const limits = createStoredLimit({ store, records: await store.collection(usageCollection('limits')), now });
  return ({ policy, counter, limit, windowMs, wanted, spent }) => {
    batchRequests++;
    const rate = { count: limit, windowMs, comesBack: 'together' as const };
    return limits.reserveBatch({ key: [policy, counter], rate }, { wanted, spent });
  };
}

/** Sends requests to limiters in turns. Returns how many were let through. */
async function passed(limiters: readonly Limiter[], requests: number, atOnce: boolean): Promise<number> {
  const send = (i: number) =>
    (limiters[i % limiters.length] as Limiter).consume('somebody').then(
      () => 1,
      () => 0,
    );
  let count = 0;
  if (!atOnce) for (let i = 0; i < requests; i++) count += await send(i);
  else for (const one of await Promise.all(Array.from({ length: requests }, (_, i) => send(i)))) count += one;
  return count;
}

test.each([false, true])('two gateways together allow 20 failed authentications (at once: %s)', async (atOnce) => {
  const take = await openCount();
  const gateways = [createSharedLimiters(take)('auth', 20), createSharedLimiters(take)('auth', 20)];
  expect(await passed(gateways, 60, atOnce)).toBe(20);
  // From then on they know the limit is used up, and request no further batches.
  const before = batchRequests;
  expect(await passed(gateways, 20, atOnce)).toBe(0);
  expect(batchRequests).toBe(before);
});

test('gateways reserve batches of a large limit, and exceed it at most by their credit', async () => {
  const take = await openCount();
  const gateways = [0, 1, 2].map(() => createSharedLimiters(take)('default', 3000));
  const count = await passed(gateways, 4000, true);
  expect(count).toBeGreaterThanOrEqual(3000 * 0.9);
  expect(count).toBeLessThanOrEqual(3000 * 1.03);
  expect(batchRequests).toBeLessThan(300);
});

test('a request waits neither for the first batch of a large limit nor for the next', async () => {
  let answer: () => void = () => {};
  let answered = Promise.resolve();
  const count = await openCount();
  const take: TakeSlice = async (about) => {
    await answered;
    return count(about);
  };
  const limiter = createSharedLimiters(take)('default', 3000);
  answered = new Promise((resolve) => {
    answer = resolve;
  });
  expect((await limiter.consume('somebody')).remainingPoints).toBe(2999);
  answer();
  await eventually(() => expect(batchRequests).toBe(1));
  await limiter.consume('somebody');
  answered = new Promise(() => {});
  // The next batch is requested when half of this one is used, and does not arrive.
  for (let i = 0; i < 140; i++) await limiter.consume('somebody');
});

test('the remaining count and the time of its reset are returned, for all gateways together', async () => {
  const take = await openCount();
  const [one, two] = [createSharedLimiters(take)('visitor', 20), createSharedLimiters(take)('visitor', 20)];
  for (let i = 0; i < 10; i++) await one.consume('somebody');
  const left = await two.consume('somebody');
  expect(left.remainingPoints).toBe(9);
  expect(left.msBeforeNext).toBeGreaterThan(0);
  expect(left.msBeforeNext).toBeLessThanOrEqual(60_000);
  await expect(passed([one, two], 20, false)).resolves.toBe(9);
  await expect(one.consume('somebody')).rejects.toMatchObject({ remainingPoints: 0 });
  expect((await one.consume('another')).remainingPoints).toBe(19);
});

test('while the shared count is unavailable, each gateway counts by itself', async () => {
  const take: TakeSlice = () => Promise.reject(new Error('identity is down'));
  const gateways = [createSharedLimiters(take)('auth', 20), createSharedLimiters(take)('auth', 20)];
  expect(await passed(gateways, 60, false)).toBe(40);
  expect(await passed([createSharedLimiters(take)('default', 3000)], 3500, true)).toBe(3000);
});
