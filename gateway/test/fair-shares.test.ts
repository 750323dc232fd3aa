import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@commonplace/kit/errors';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  createFairShares,
  type FairShares,
  type FairSharesOptions,
  type RunningRequest,
} from '../src/fair-shares/index.js';
import { shareOfVisitors } from '../src/fair-shares/visitors.js';
import { watchUtilization } from '../src/fair-shares/watch-utilization.js';

const opened: FairShares[] = [];
afterEach(() => {
  for (const shares of opened.splice(0)) shares.close();
});

/** Opens shares whose event loop is as busy as the test says in `look`. */
function open(options: Partial<FairSharesOptions> = {}) {
  let look: (utilization: number) => void = () => {};
  const watch = { isRunning: false };
  const shares = createFairShares(
    { utilization: 0.6, bytesPerSecond: 1e9, maxWaiting: undefined, ...options },
    (measured) => {
      look = measured;
      return {
        start: () => Object.assign(watch, { isRunning: true }),
        stop: () => Object.assign(watch, { isRunning: false }),
      };
    },
  );
  opened.push(shares);
  return { shares, watch, look: (utilization: number, times = 1) => void repeat(times, () => look(utilization)) };
}

function repeat(times: number, work: () => void): void {
  for (let i = 0; i < times; i++) work();
}

const LATER = () => Date.now() + 60_000;

/** Enters `count` requests of a tenant. Returns the places of those in progress, to which waiting ones are added. */
function enter(shares: FairShares, tenant: string, count: number, bytes = 0): RunningRequest[] {
  const places: RunningRequest[] = [];
  const add = (place: RunningRequest) => {
    place.bytes = bytes;
    places.push(place);
  };
  for (let i = 0; i < count; i++) {
    const entered = shares.enter(tenant, LATER());
    if (entered instanceof Promise) void entered.then(add, () => {});
    else add(entered);
  }
  return places;
}

/** Sends requests of a tenant one after another that seem to have taken a second each. Returns how many had to wait. */
async function endRequests(shares: FairShares, tenant: string, count: number): Promise<number> {
  let waited = 0;
  for (let i = 0; i < count; i++) {
    const entered = shares.enter(tenant, LATER());
    if (entered instanceof Promise) waited++;
    const place = await entered;
    shares.leave(Object.assign(place, { since: place.since - 1000 }));
  }
  return waited;
}

/**
 * Sends requests of a tenant that seem to have taken a second each, each before the one before it has ended. Returns how
 * many had to wait although that one had ended.
 */
async function endOverlapping(shares: FairShares, tenant: string, count: number): Promise<number> {
  let paused = 0;
  let place = await shares.enter(tenant, LATER());
  for (let i = 0; i < count; i++) {
    let hasStarted = false;
    const next = Promise.resolve(shares.enter(tenant, LATER()));
    void next.then(() => {
      hasStarted = true;
    });
    shares.leave(Object.assign(place, { since: place.since - 1000 }));
    await settled();
    if (!hasStarted) paused++;
    place = await next;
  }
  return paused;
}

const settled = () => new Promise(setImmediate);

async function refusalOf(enter: () => RunningRequest | Promise<RunningRequest>): Promise<unknown> {
  try {
    return await enter();
  } catch (error) {
    return error instanceof AppError ? `${error.reason} ${error.details.policy}` : error;
  }
}

describe('while the process is busy', () => {
  test('a single tenant has no limit, and the loop is not watched', () => {
    const { shares, watch } = open();
    expect(enter(shares, 'a', 100)).toHaveLength(100);
    expect(watch.isRunning).toBe(false);
  });

  test('all tenants have as many requests in progress, and the next starts when one of the same tenant ends', async () => {
    const { shares, look } = open();
    const [a, b] = [enter(shares, 'a', 8), enter(shares, 'b', 1)];
    look(1, 30);
    for (const place of a.splice(0)) shares.leave(place);
    const more = enter(shares, 'a', 4);
    expect(more).toHaveLength(1);
    for (const place of b.splice(0)) shares.leave(place);
    expect(enter(shares, 'b', 1)).toHaveLength(1);
    await settled();
    expect(more).toHaveLength(1);
    shares.leave(more[0] as RunningRequest);
    await settled();
    expect(more).toHaveLength(2);
  });

  test('the number of requests in progress falls step by step', () => {
    const { shares, look } = open();
    const [a, b] = [enter(shares, 'a', 98), enter(shares, 'b', 2)];
    look(1, 3);
    for (const place of [...a.splice(0), ...b.splice(0)]) shares.leave(place);
    const more = enter(shares, 'a', 98);
    expect(more).toHaveLength(47);
    look(1, 3);
    for (const place of more.splice(0)) shares.leave(place);
    expect(enter(shares, 'b', 98)).toHaveLength(21);
  });

  test('bytes delay the next request of a tenant, and none of another', async () => {
    const { shares, look } = open({ bytesPerSecond: 1_000_000 });
    const [a, b] = [enter(shares, 'a', 1, 230_000), enter(shares, 'b', 1, 60_000)];
    look(1, 30);
    const since = performance.now();
    for (const place of [...a, ...b]) shares.leave(place);
    expect(enter(shares, 'b', 1)).toHaveLength(1);
    expect(await shares.enter('a', LATER())).toMatchObject({ tenant: 'a' });
    expect(performance.now() - since).toBeGreaterThan(75);
  });

  test('bytes delay requests until no process was busy for three seconds', async () => {
    const { shares, look } = open({ bytesPerSecond: 1_000_000 });
    enter(shares, 'b', 1);
    const [a] = enter(shares, 'a', 1, 250_000);
    look(1, 30);
    look(0, 200);
    shares.leave(a as RunningRequest);
    expect(shares.enter('a', LATER())).toBeInstanceOf(Promise);
    await sleep(3050);
    look(0);
    expect(enter(shares, 'a', 1)).toHaveLength(1);
  });

  test('requests in parallel are followed by a pause once their tenant has used up its credit', async () => {
    const { shares, look } = open();
    enter(shares, 'b', 1);
    const places = enter(shares, 'a', 2);
    look(1, 60);
    for (const place of places) shares.leave(place);
    const paused = await endOverlapping(shares, 'a', 60);
    // Timers that fire late add to the credit.
    expect(paused).toBeGreaterThan(10);
    expect(paused).toBeLessThan(60);
  });

  test('requests one after another are never followed by a pause', async () => {
    const { shares, look } = open();
    enter(shares, 'b', 2);
    await endRequests(shares, 'a', 1);
    look(1, 60);
    expect(await endRequests(shares, 'a', 60)).toBe(0);
  });

  test('a request that takes longer than a second leaves its place to the next', async () => {
    const { shares, look } = open();
    enter(shares, 'b', 1);
    enter(shares, 'a', 1);
    look(0.9, 40);
    const next = enter(shares, 'a', 1);
    await settled();
    expect(next).toHaveLength(0);
    await sleep(1050);
    look(0.9);
    await settled();
    expect(next).toHaveLength(1);
  });
});

test('work for a client without a credential counts for the network of the client', async () => {
  const { shares, look } = open({ bytesPerSecond: 1_000_000 });
  const inShare = shareOfVisitors(shares, 60_000);
  const gone = new Set(['192.0.2.64']);
  const share = (clientNetwork: string, work: () => Promise<unknown>, bytes = 0) =>
    inShare({ state: { clientNetwork }, res: { destroyed: gone.has(clientNetwork) } }, work, () => bytes);
  const order: string[] = [];
  const note = (what: string) => async () => order.push(what);
  enter(shares, 'b', 1);
  await expect(share('192.0.2.0', () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  enter(shares, '192.0.2.0', 1);
  look(1, 30);
  await share('198.51.100.0', note('large'), 230_000);
  const next = share('198.51.100.0', note('next'));
  await share('203.0.113.0', note('other'));
  await share('192.0.2.64', note('not waiting'), 230_000);
  await expect(share('192.0.2.64', note('gone'))).rejects.toMatchObject({ code: 'CANCELLED' });
  await next;
  expect(order.filter((what) => what !== 'next')).toEqual(['large', 'other', 'not waiting']);
  expect(order.indexOf('next')).toBeGreaterThan(order.indexOf('other'));
});

describe('requests that wait', () => {
  test('start as soon as the process is less busy', async () => {
    const { shares, look } = open();
    enter(shares, 'b', 1);
    enter(shares, 'a', 1);
    look(1, 30);
    const waiting = enter(shares, 'a', 20);
    await settled();
    expect(waiting).toHaveLength(0);
    look(0, 60);
    await settled();
    expect(waiting.length).toBeGreaterThan(15);
  });

  test('start when the other tenants have been absent for a second', async () => {
    const { shares, watch, look } = open();
    const [b] = enter(shares, 'b', 1);
    enter(shares, 'a', 1);
    look(1, 30);
    const waiting = enter(shares, 'a', 5);
    shares.leave(b as RunningRequest);
    await sleep(1050);
    look(0.9);
    await settled();
    expect(waiting).toHaveLength(5);
    expect(watch.isRunning).toBe(false);
  });

  test('are refused beyond the limit, and when their time is over', async () => {
    const { shares, look } = open({ maxWaiting: 2 });
    enter(shares, 'b', 1);
    const [a] = enter(shares, 'a', 1);
    look(1, 30);
    const late = refusalOf(() => shares.enter('a', Date.now() + 10));
    const second = enter(shares, 'a', 1);
    expect(await refusalOf(() => shares.enter('a', LATER()))).toBe('concurrency_limited tenant_waiting');
    await sleep(20);
    look(0.9);
    expect(await late).toBe('concurrency_limited tenant_waiting');
    expect(second).toHaveLength(0);
    shares.leave(a as RunningRequest);
    await settled();
    expect(second).toHaveLength(1);
  });
});

test('the watch passes on the utilization of the busiest process, until it is stopped', async () => {
  const measured: number[] = [];
  let reported = 0.97;
  const watch = watchUtilization(() => {
    const taken = reported;
    reported = 0;
    return taken;
  })((utilization) => measured.push(utilization));
  watch.start();
  reported = 0.97;
  const until = performance.now() + 5000;
  while (measured.length < 2 && performance.now() < until) await sleep(10);
  watch.stop();
  expect(measured[0]).toBeGreaterThanOrEqual(0.97);
  expect(measured[1]).toBeLessThan(0.97);
  const { length } = measured;
  await sleep(60);
  expect(measured).toHaveLength(length);
});
