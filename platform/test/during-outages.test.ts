import { Internal, Unavailable } from '@commonplace/kit/errors';
import type { DomainEvent, EventBus } from '@commonplace/kit/events';
import { silentLog } from '@commonplace/kit/log';
import { gather } from '@commonplace/kit/telemetry';
import { eventually } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import { waitingFor } from '../src/runtime/during-outages.js';

const SPEC = { consumer: 'test.outage', types: ['commonplace.test.happened'] };

/** Subscribes a handler that fails, with a store that is unavailable until `back` is called. */
async function subscribed(failure: Error) {
  let handle: (events: readonly DomainEvent[]) => Promise<void> = async () => {};
  const inner = {
    subscribe: async (_: unknown, handler: typeof handle) => {
      handle = handler;
      return { close: async () => {} };
    },
  } as unknown as EventBus;
  const lines: string[] = [];
  const note = (event: string) => void lines.push(event);
  let isAway = true;
  const check = async () => {
    if (isAway) throw Unavailable();
  };
  const bus = waitingFor({ name: 'MongoDB', check }, inner, { ...silentLog, warn: note, info: note }, 1);
  const subscription = await bus.subscribe(SPEC, () => Promise.reject(failure));
  let ended = false;
  const outcome = handle([]).then(
    () => undefined,
    (error: unknown) => {
      ended = true;
      return error;
    },
  );
  const back = () => {
    isAway = false;
  };
  return { outcome, lines, back, subscription, hasEnded: () => ended };
}

/** Returns the number of consumers that wait for MongoDB, as metrics report it. */
async function waitingCount(): Promise<number | undefined> {
  const waiting = (await gather()).find(({ spec }) => spec.name === 'consumer.waiting');
  const points = waiting?.kind === 'gauge' ? waiting.points : [];
  return points.find(({ attributes }) => attributes['server.name'] === 'MongoDB')?.value;
}

test('an event that failed for an unavailable store waits until it is back', async () => {
  const failure = Unavailable();
  const { outcome, lines, back, hasEnded } = await subscribed(failure);
  await eventually(() => expect(lines).toEqual(['events.waiting']));
  expect([hasEnded(), await waitingCount()]).toEqual([false, 1]);
  back();
  expect(await outcome).toBe(failure);
  expect([lines, await waitingCount()]).toEqual([['events.waiting', 'events.continued'], 0]);
});

test('an event that failed for another reason does not wait', async () => {
  const failure = Internal();
  const { outcome, lines } = await subscribed(failure);
  expect(await outcome).toBe(failure);
  expect(lines).toEqual([]);
});

test('closing a subscription ends the wait', async () => {
  const failure = Unavailable();
  const { outcome, lines, subscription } = await subscribed(failure);
  await eventually(() => expect(lines).toEqual(['events.waiting']));
  await subscription.close();
  expect([await outcome, await waitingCount()]).toEqual([failure, 0]);
});
