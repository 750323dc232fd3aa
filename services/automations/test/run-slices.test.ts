import { countTurns } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import type { AutomationRunRecord, StepRecord } from '../src/runs/records.js';
import { runMessage } from '../src/runs/wire.js';

test('other requests run while the steps of a run are written', async () => {
  const run = {
    status: 'completed',
    trigger: { type: 'manual', by: { type: 'user', id: 'u', name: 'Ann' } },
    chain: [],
  };
  const step = { type: 'search', status: 'completed', attempt: 1, truncated: false };
  const steps = Array.from({ length: 100 }, (_, i) => ({
    ...{ ...step, actionId: `a${i}`, output: { text: 'A "word". '.repeat(20_000) } },
  }));
  const seen = { showsInput: true, showsData: true };
  const turns = await countTurns(async () => {
    const message = await runMessage(run as unknown as AutomationRunRecord, steps as unknown as StepRecord[], seen);
    expect(message.steps).toHaveLength(100);
  });
  expect(turns).toBeGreaterThan(5);
});
