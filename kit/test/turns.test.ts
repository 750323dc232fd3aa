import { expect, test } from '@jest/globals';
import { createTurns } from '../src/rpc/turns.js';

const NEVER = 600_000;

test('calls that wait for one record run one after another, in their order', async () => {
  const turns = createTurns();
  const seen: string[] = [];
  const first = await turns.take('a', NEVER);
  const others = [1, 2, 3].map(async (i) => {
    const turn = await turns.take('a', NEVER);
    seen.push(`${i} begins`);
    await Promise.resolve();
    seen.push(`${i} ends`);
    turn.end();
  });
  const elsewhere = await turns.take('b', NEVER);
  expect([elsewhere.key, seen]).toEqual(['b', []]);
  first.end();
  await Promise.all(others);
  expect(seen).toEqual([1, 2, 3].flatMap((i) => [`${i} begins`, `${i} ends`]));
});

test('a call waits no longer than its limit', async () => {
  const turns = createTurns();
  const first = await turns.take('a', NEVER);
  const second = await turns.take('a', 1);
  const third = turns.take('a', NEVER);
  second.end();
  first.end();
  expect((await third).key).toBe('a');
});
