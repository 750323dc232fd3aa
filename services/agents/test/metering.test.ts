import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, type Stage } from '@commonplace/platform/testing';
import { CreditSource, ReservationState, UsageSource } from '@commonplace/proto/tenancy/v1/credit_service.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLedger } from '../src/credits/metering.js';
import { agents } from '../src/service.js';

let stage: Stage;
const asked: [string, unknown][] = [];
beforeAll(async () => {
  const note =
    <T>(name: string, answer: T) =>
    async (request: unknown) => {
      asked.push([name, request]);
      return answer;
    };
  stage = await openStage(agents, [
    fake(contracts.metering, {
      reserveCredits: note('reserve', {
        key: undefined,
        state: ReservationState.OPEN,
        amount: '0',
        expiresAt: undefined,
      }),
      renewReservations: note('renew', { reservations: [] }),
      settleUsage: note('settle', { credits: '0', overage: '0', charged: true }),
      releaseReservation: note('release', { released: true }),
    }),
  ]);
});
afterAll(() => stage.close());

test('a step reserves, renews and settles under one key, in credits with six decimal places', async () => {
  const ledger = openLedger(stage.own.client(contracts.metering), () => stage.own.systemCall());
  const attempt = { source: 'agent_run', runId: 'run', step: 3, attempt: 2 } as const;
  const about = { tenant: 't', feature: 'chat', model: 'm', userId: 'u', apiKeyId: 'k' } as const;
  await ledger.reserve(attempt, about, 1_250_000, { max: 2_000_000 });
  await ledger.renew(attempt);
  await ledger.settle(attempt, about, { inputTokens: 10, outputTokens: 5, micros: 7, toolCalls: 0, estimated: true });
  await ledger.release(attempt);
  const key = { source: CreditSource.AGENT_RUN, sourceId: 'run', step: '3', attempt: 2 };
  expect(asked).toEqual([
    ['reserve', expect.objectContaining({ key, tenant: 't', amount: '1.25', perRunCap: '2', ttlMs: 315_000 })],
    ['renew', { keys: [key], ttlMs: 315_000 }],
    ['settle', expect.objectContaining({ key, credits: '0.000007', source: UsageSource.ESTIMATED, inputTokens: 10 })],
    ['release', { key }],
  ]);
});
