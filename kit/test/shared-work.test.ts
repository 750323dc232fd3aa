import { expect, test } from '@jest/globals';
import { createSharedWork } from '../src/cache/index.js';

test('calls for one key share the work that is under way, and others do not', async () => {
  const share = createSharedWork<number>();
  let runs = 0;
  const work = async () => ++runs;
  expect(await Promise.all([share('a', work), share('b', work), share('a', work)])).toEqual([1, 2, 1]);
  expect(await share('a', work)).toBe(3);
});

test('a failure is that of the call that began the work', async () => {
  const share = createSharedWork<string>();
  const runs: string[] = [];
  const call = (name: string, fails: boolean) =>
    share('a', async () => {
      runs.push(name);
      if (fails) throw new Error(name);
      return name;
    });
  const all = [call('first', true), call('second', true), call('third', false), call('fourth', false)];
  const outcomes = (await Promise.allSettled(all)).map((one) => ('value' in one ? one.value : one.reason.message));
  expect(outcomes).toEqual(['first', 'second', 'third', 'third']);
  expect(runs).toEqual(['first', 'second', 'third']);
});
