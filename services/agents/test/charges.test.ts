import { AppError, Unavailable } from '@commonplace/kit/errors';
import { expect, test } from '@jest/globals';
import type { Ledger } from '../src/credits/ledger.js';
import { Charges } from '../src/engine/charges.js';
import type { RunRecord, StepRecord } from '../src/stores/runs.js';

const initiator = { type: 'user', id: 'u', name: 'Ann' } as const;
const RUN = { id: 'run', tenant: 't', source: 'api', userId: 'u', initiator } as RunRecord;
const STEP = { seq: 2, attempt: 1 } as StepRecord;
const { signal } = new AbortController();

const refusal = (reason: string, details: object) =>
  new AppError('ABORTED', reason, 'No.', { details: { ...details } });
const cap = (details: object) => refusal('usage_cap_reached', { cap: 'tenant', limit: '10', needed: '2', ...details });
const none = (details: object) => refusal('insufficient_credits', { needed: '2', ...details });

/** Reserves with a ledger that throws some errors first. Returns how often it was asked. */
async function triesOf(...errors: AppError[]): Promise<number> {
  let tries = 0;
  const reserve = async () => {
    const error = errors[tries++];
    if (error !== undefined) throw error;
  };
  await new Charges({ reserve } as unknown as Ledger, RUN).reserve(STEP, 2_000_000, signal);
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
  ['a cap of which nothing is told', refusal('usage_cap_reached', { cap: 'tenant' })],
  ['credits that there are not', none({ available: '0.5', reserved: '1' })],
])('a run fails at %s', async (_, error) => {
  await expect(triesOf(error)).rejects.toMatchObject(failed);
});

test('a run that waits fails once others have used the rest, and does not hide other errors', async () => {
  const waits = cap({ taken: '9', reserved: '3' });
  await expect(triesOf(waits, cap({ taken: '10', reserved: '0' }))).rejects.toMatchObject(failed);
  await expect(triesOf(waits, Unavailable())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
