import { countTurns } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import type { StepRecord } from '../src/stores/runs.js';
import { stepMessages } from '../src/wire/runs.js';

test('other requests run while the steps of a run are written', async () => {
  const step = { type: 'message', effect: 'none', status: 'completed', attempt: 1, truncated: false };
  const steps = Array.from({ length: 500 }, (_, seq) => ({
    ...step,
    seq,
    output: { text: 'A "word". '.repeat(4_000) },
  }));
  const view = { readable: new Map(), isOpen: true };
  const turns = await countTurns(async () => {
    const messages = await stepMessages(steps as unknown as StepRecord[], view);
    expect(messages.map(({ seq }) => seq)).toEqual(steps.map(({ seq }) => seq));
  });
  expect(turns).toBeGreaterThan(5);
});
