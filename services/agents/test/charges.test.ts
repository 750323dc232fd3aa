import { openTestDatabase } from '@commonplace/adapters/testing';
import { AppError, Unavailable } from '@commonplace/kit/errors';
import { silentLog } from '@commonplace/kit/log';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Ledger } from '../src/credits/ledger.js';
import { openSettlementQueue } from '../src/credits/settlements.js';
import { Charges } from '../src/engine/charges.js';
import type { Parts } from '../src/parts.js';
import { NOTHING_SPENT, type RunRecord, type Spent, type StepRecord } from '../src/stores/runs.js';
import { settlementCollection } from '../src/stores/settlements.js';

let later: Pick<Parts, 'store' | 'settlements'>;
let end: () => Promise<void>;

beforeAll(async () => {
  const database = await openTestDatabase();
  const store = database.store('agents');
  later = { store, settlements: await store.collection(settlementCollection) };
  end = async () => {
    await database.close();
  };
});
afterAll(() => end());

const initiator = { type: 'user', id: 'u', name: 'Ann' } as const;
const RUN = { id: 'run', tenant: 't', source: 'api', userId: 'u', initiator } as RunRecord;
const STEP = { seq: 2, attempt: 1 } as StepRecord;

const refusal = (reason: string, details: object) =>
  new AppError('ABORTED', reason, 'No.', { details: { ...details } });
const cap = (details: object) => refusal('usage_cap_reached', { cap: 'tenant', limit: '10', needed: '2', ...details });
const none = (details: object) => refusal('insufficient_credits', { needed: '2', ...details });

function chargesOf(ledger: Partial<Ledger>, signal = new AbortController().signal): Charges {
  return new Charges({ ledger, ...later } as never, RUN, signal);
}

/** Reserves with a ledger that throws some errors first. Returns the number of calls. */
async function triesOf(...errors: AppError[]): Promise<number> {
  let tries = 0;
  const reserve = async () => {
    const error = errors[tries++];
    if (error !== undefined) throw error;
  };
  await chargesOf({ reserve }).reserve(STEP, 2_000_000);
  return tries;
}

const failed = { code: 'credit_limit' };

test.each([
  ['a cap that reservations of others fill', cap({ taken: '9', reserved: '3' })],
  ['exactly as much as they hold', cap({ taken: '10', reserved: '2' })],
  ['credits that others have reserved', none({ available: '1', reserved: '1' })],
])('a run waits for %s', async (_, error) => {
  expect(await triesOf(error)).toBe(2);
});

test.each([
  ['a cap that is used up', cap({ taken: '9', reserved: '0.5' })],
  ['a cap without anything reserved', cap({ taken: '9', reserved: '0' })],
  ['a cap without figures', refusal('usage_cap_reached', { cap: 'tenant' })],
  ['credits that there are not', none({ available: '0.5', reserved: '1' })],
])('a run fails at %s', async (_, error) => {
  await expect(triesOf(error)).rejects.toMatchObject(failed);
});

test('a waiting run fails once others have used the rest, and does not hide other errors', async () => {
  const waits = cap({ taken: '9', reserved: '3' });
  await expect(triesOf(waits, cap({ taken: '10', reserved: '0' }))).rejects.toMatchObject(failed);
  await expect(triesOf(waits, refusal('not_found', {}))).rejects.toMatchObject({ reason: 'not_found' });
});

test('a run waits while the ledger is unreachable', async () => {
  expect(await triesOf(Unavailable(), Unavailable())).toBe(3);
});

const SPENT: Spent = { inputTokens: 3, outputTokens: 4, micros: 5, toolCalls: 0, estimated: false };

/** Settles with a ledger that fails the given number of times. Returns the number of calls. */
async function settle(failures: number, signal?: AbortSignal, spent = SPENT): Promise<number> {
  let tries = 0;
  const call = async () => {
    if (tries++ < failures) throw Unavailable();
  };
  await chargesOf({ settle: call, release: call }, signal).settle(STEP, spent);
  return tries;
}

test('usage is charged once the ledger is reachable', async () => {
  expect(await settle(2)).toBe(3);
});

test('usage that is uncharged at the end of a run is charged later, once', async () => {
  const signal = AbortSignal.abort();
  expect(await settle(9, signal)).toBe(1);
  expect(await settle(9, signal)).toBe(1);
  const [settlement, ...others] = await later.settlements.find({ where: {}, limit: 9 });
  const key = { source: 'agent_run', runId: RUN.id, step: STEP.seq, attempt: STEP.attempt };
  expect(settlement).toMatchObject({ tenant: 't', key, spent: SPENT });
  expect(others).toEqual([]);
  const charged: unknown[] = [];
  const ledger = { settle: async (...args: unknown[]) => void charged.push(args) } as unknown as Ledger;
  const queue = await openSettlementQueue({ store: later.store, ledger, log: silentLog });
  await queue.runDue();
  expect(charged).toEqual([[key, settlement?.about, SPENT]]);
  expect(await later.settlements.count({})).toBe(0);
  await queue.close();
});

test('an attempt without usage leaves nothing to charge', async () => {
  expect(await settle(9, AbortSignal.abort(), NOTHING_SPENT)).toBe(1);
  expect(await later.settlements.count({})).toBe(0);
});
