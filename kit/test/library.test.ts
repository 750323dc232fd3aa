import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { loadInIdleTime, loadWhenIdle } from '../src/library/index.js';

test('what is registered is loaded once, one after the other, when the process is idle', async () => {
  const loaded: string[] = [];
  loadWhenIdle(() => loaded.push('first'));
  loadWhenIdle(async () => {
    throw new Error('It cannot be loaded.');
  });
  loadWhenIdle(() => loaded.push('last'));
  const stop = loadInIdleTime(20);
  const busyUntil = performance.now() + 100;
  while (performance.now() < busyUntil) {
    expect(loaded).toEqual([]);
    const pauseAt = performance.now() + 18;
    while (performance.now() < pauseAt);
    await wait(0);
  }
  while (loaded.length < 2) await wait(20);
  stop();
  expect(loaded).toEqual(['first', 'last']);
});
