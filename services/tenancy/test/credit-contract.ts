import type { Store } from '@commonplace/kit/store';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatAmount } from '../src/credits/domain/amounts.js';
import { type Clock, newPerson, openReplica, type Person, type Replica, readFigures } from './credit-bench.js';
import { CreditModel } from './credit-model.js';

export interface CreditHarness {
  /** Returns the store of another process if the adapter allows several processes, otherwise the same store. */
  store(): Promise<Store>;
  close(): Promise<void>;
  /** Number of runs of each property. */
  readonly runs: number;
}

type Step =
  | { readonly kind: 'grant'; readonly amount: number; readonly expiresIn: number | undefined }
  | { readonly kind: 'reserve'; readonly key: number; readonly amount: number; readonly ttlMs: number }
  | { readonly kind: 'settle' | 'record'; readonly key: number; readonly amount: number }
  | { readonly kind: 'release'; readonly key: number }
  | { readonly kind: 'renew'; readonly key: number; readonly ttlMs: number }
  | { readonly kind: 'advance'; readonly ms: number };

const amount = fc.integer({ min: 0, max: 5_000_000 });
const key = fc.integer({ min: 1, max: 5 });
const ms = fc.integer({ min: 1, max: 90_000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('grant' as const),
      amount: fc.integer({ min: 1, max: 9_000_000 }),
      expiresIn: fc.option(ms, { nil: undefined }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('reserve' as const), key, amount, ttlMs: ms }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('settle' as const), key, amount }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('record' as const), key: key.map((one) => one + 100), amount }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew' as const), key, ttlMs: ms }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms }) },
);

/** A time in the middle of a month, so that no property crosses the end of one. */
const NOON = Date.parse('2026-11-15T12:00:00.000Z');

interface Scene {
  readonly person: Person;
  readonly clock: Clock;
  readonly replicas: readonly [Replica, Replica];
}

/** Tests the guarantees of metering on a store. */
export function creditContract(name: string, open: () => Promise<CreditHarness>): void {
  describe(`credits on ${name}`, () => {
    let harness: CreditHarness;
    let stores: readonly [Store, Store];
    beforeAll(async () => {
      harness = await open();
      stores = [await harness.store(), await harness.store()];
    });
    afterAll(() => harness.close());

    async function scene(metersAll = true): Promise<Scene> {
      const person = newPerson();
      const clock = { ms: NOON };
      const [first, second] = await Promise.all(stores.map((store) => openReplica(store, clock, person, metersAll)));
      return { person, clock, replicas: [first as Replica, second as Replica] };
    }

    test('matches a simple model of available, used and reserved credits after every step', async () => {
      const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const { person, clock, replicas } = await scene();
        const model = new CreditModel(clock.ms);
        for (const [at, one] of steps.entries()) {
          const replica = replicas[at % 2] as Replica;
          const outcome = await run(replica, clock, one);
          expect([one, outcome]).toEqual([one, play(model, one, clock)]);
          const { available, reserved, used, overage } = await readFigures(replica.parts, person);
          const expected = {
            available: model.available,
            reserved: model.reserved,
            used: model.used,
            overage: model.overage,
          };
          expect({ available, reserved, used, overage }).toEqual(expected);
        }
        await closeAll(replicas);
      });
      await fc.assert(property, { numRuns: harness.runs });
    });

    test('keeps the books consistent under concurrent steps', async () => {
      const batches = fc.array(fc.array(step, { minLength: 2, maxLength: 8 }), { minLength: 1, maxLength: 5 });
      const property = fc.asyncProperty(batches, async (all) => {
        const { person, clock, replicas } = await scene();
        let charged = 0n;
        for (const batch of all) {
          const outcomes = await Promise.all(
            batch.map(async (one, at) => ({ one, outcome: await run(replicas[at % 2] as Replica, clock, one) })),
          );
          for (const { one, outcome } of outcomes) {
            if (outcome && (one.kind === 'settle' || one.kind === 'record')) charged += BigInt(one.amount);
          }
          const figures = await readFigures(replicas[0].parts, person);
          expect(figures.used).toBe(charged);
        }
        await closeAll(replicas);
      });
      await fc.assert(property, { numRuns: Math.ceil(harness.runs / 2) });
    });

    test('grants 200 concurrent reservations on a small balance only what it contains', async () => {
      const { person, replicas } = await scene();
      await replicas[0].grant(10_000_000);
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, at) => reserveInTime(replicas[at % 2] as Replica, at, '0.3')),
      );
      expect(outcomes.filter((one) => one)).toHaveLength(33);
      const { available, reserved } = await readFigures(replicas[0].parts, person);
      expect({ available, reserved }).toEqual({ available: 100_000n, reserved: 9_900_000n });
      await closeAll(replicas);
    });

    test('charges a key once, however often it is settled concurrently', async () => {
      const { person, replicas } = await scene();
      await replicas[0].grant(5_000_000);
      await replicas[0].reserve(1, '2');
      const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => replicas[at % 2]?.settle(1, '1.25')));
      expect(answers.filter((one) => one?.charged)).toHaveLength(1);
      expect(answers.every((one) => one?.credits === '1.25')).toBe(true);
      const { available, used } = await readFigures(replicas[0].parts, person);
      expect({ available, used }).toEqual({ available: 3_750_000n, used: 1_250_000n });
      await closeAll(replicas);
    });

    test('refuses nothing without limits, and counts everything', async () => {
      const { person, replicas } = await scene(false);
      await replicas[0].reserve(1, '1000');
      await replicas[1].settle(1, '999.9999995');
      await replicas[0].record(2, '0.25');
      expect((await readFigures(replicas[0].parts, person)).used).toBe(1_000_250_000n);
      await replicas[0].grant(3_000_000);
      expect(await readFigures(replicas[0].parts, person)).toMatchObject({ available: 3_000_000n, overage: 0n });
      await closeAll(replicas);
    });
  });
}

async function closeAll(replicas: readonly Replica[]): Promise<void> {
  for (const { queues } of replicas) for (const queue of queues) await queue.close();
}

/** Reserves credits, and retries after lost races, as callers do. Returns whether the reservation succeeded. */
async function reserveInTime(replica: Replica, at: number, credits: string): Promise<boolean> {
  for (;;) {
    try {
      await replica.reserve(at, credits);
      return true;
    } catch (error) {
      const { reason } = error as { reason?: string };
      if (reason === 'insufficient_credits') return false;
      if (reason !== 'service_unavailable') throw error;
    }
  }
}

/** Runs a step. Returns whether it had an effect. */
async function run(replica: Replica, clock: Clock, one: Step): Promise<boolean> {
  const refusedWith = async (reason: string, act: Promise<boolean>) =>
    act.catch((error: { reason?: string }) => {
      if (error.reason === reason) return false;
      throw error;
    });
  switch (one.kind) {
    case 'grant': {
      const expiresAt = one.expiresIn === undefined ? undefined : new Date(clock.ms + one.expiresIn).toISOString();
      await replica.grant(one.amount, 'topup', expiresAt);
      return true;
    }
    case 'reserve':
      return refusedWith(
        'insufficient_credits',
        replica.reserve(one.key, formatAmount(one.amount), one.ttlMs).then(() => true),
      );
    case 'settle':
      return refusedWith(
        'not_found',
        replica.settle(one.key, formatAmount(one.amount)).then(({ charged }) => charged),
      );
    case 'record':
      return (await replica.record(one.key, formatAmount(one.amount))).charged;
    case 'release':
      return (await replica.release(one.key)).released;
    case 'renew':
      await replica.renew([one.key], one.ttlMs);
      return true;
    case 'advance':
      clock.ms += one.ms;
      for (const queue of replica.queues) await queue.runDue();
      return true;
  }
}

/** Runs a step of the model after the service has run it. */
function play(model: CreditModel, one: Step, clock: Clock): boolean {
  switch (one.kind) {
    case 'grant':
      model.grant(
        BigInt(one.amount),
        one.expiresIn === undefined ? Number.POSITIVE_INFINITY : clock.ms + one.expiresIn,
      );
      return true;
    case 'reserve':
      return model.reserve(one.key, BigInt(one.amount), one.ttlMs);
    case 'settle':
      return model.settle(one.key, BigInt(one.amount));
    case 'record':
      return model.record(one.key, BigInt(one.amount));
    case 'release':
      return model.release(one.key);
    case 'renew':
      model.renew(one.key, one.ttlMs);
      return true;
    case 'advance':
      model.advance(one.ms);
      return true;
  }
}
