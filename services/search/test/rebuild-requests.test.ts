import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { silentLog } from '@commonplace/kit/log';
import { eventually } from '@commonplace/kit/testing';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openRebuilds, readRebuildRequest, requestRebuild } from '../src/upkeep/rebuild-requests.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await openTestDatabase();
});
afterEach(async () => {
  await database.close();
});

test('runs a requested rebuild once, retries it after a failure, and then deletes the request', async () => {
  const store = database.store('search');
  let [tries, done] = [0, 0];
  const rebuild = async (): Promise<void> => {
    if (++tries === 1) throw new Error('the tree did not answer');
    done++;
  };
  const rebuilds = await openRebuilds({ store, log: silentLog }, { rebuild });
  await requestRebuild(store, '2026-11-01T00:00:00.000Z');
  await requestRebuild(store, '2026-11-02T00:00:00.000Z');
  await rebuilds.runDue();
  expect(await readRebuildRequest(store)).toMatchObject({ requestedAt: '2026-11-01T00:00:00.000Z', failures: 1 });
  await requestRebuild(store);
  await rebuilds.runDue();
  expect([tries, done, await readRebuildRequest(store)]).toEqual([2, 1, undefined]);
  await rebuilds.close();
});

test('does not disturb a running rebuild by another request, and resumes an interrupted one', async () => {
  const store = database.store('search');
  let runs = 0;
  const rebuild = (signal?: AbortSignal): Promise<void> =>
    new Promise((_, reject) => {
      runs++;
      signal?.addEventListener('abort', () => reject(new Error('stopped')));
    });
  const rebuilds = await openRebuilds({ store, log: silentLog }, { rebuild });
  await requestRebuild(store);
  await rebuilds.begin();
  await eventually(() => expect(runs).toBe(1));
  expect((await requestRebuild(store)).lease?.holder).not.toBe('');
  await rebuilds.close();
  const left = await readRebuildRequest(store);
  expect([runs, left?.lease?.holder, left?.failures, left?.dueAt]).toEqual([1, '', undefined, expect.any(String)]);
});
