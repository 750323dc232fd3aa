import { expect, test } from '@jest/globals';
import { followRecord } from '../src/events/index.js';
import { openTurns } from '../src/testing/suite/turns.js';

/** A bus whose broadcasts reach everybody who listens. */
function busOf() {
  const listeners = new Set<() => void>();
  return {
    listen: async (_: string, listener: () => void) => {
      listeners.add(listener);
      return { close: async () => void listeners.delete(listener) };
    },
    broadcast() {
      for (const listener of listeners) listener();
    },
  };
}

test('readers of one record read it in different turns of the event loop after a change', async () => {
  const bus = busOf();
  const turns = openTurns();
  const inTurn = new Map<number, number>();
  let version = 1;
  let seen = 0;
  const read = async () => {
    inTurn.set(turns.now(), (inTurn.get(turns.now()) ?? 0) + 1);
    return { version };
  };
  const follow = async () => {
    const options = { topic: 'record', read, stateOf: String, isFinal: () => version === 2 };
    for await (const _ of followRecord({ ...options, bus: bus as never, signal: new AbortController().signal })) seen++;
  };
  const readers = Array.from({ length: 40 }, follow);
  while (seen < readers.length) await new Promise(setImmediate);
  inTurn.clear();
  version = 2;
  bus.broadcast();
  await Promise.all(readers);
  turns.end();
  expect(seen).toBe(2 * readers.length);
  expect(Math.max(...inTurn.values())).toBeLessThan(5);
});
