import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Claim, createStoredLimit, type StoredLimit, usageCollection } from '@commonplace/kit/limits';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';

const MINUTE = 60_000;
const spec = usageCollection('usage');
let folder: string;
let database: SqliteDatabase;
let at: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'limits-'));
  database = await openSqliteDatabase({ file: join(folder, 'limits.db') });
  at = Date.now();
});
afterEach(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Creates one replica of a service on the shared store. */
async function replica(): Promise<StoredLimit> {
  const store = database.store('test');
  return createStoredLimit({ store, records: await store.collection(spec), now: () => at });
}

const claim = (key: string, count: number): Claim => ({
  key: [key],
  rate: { count, windowMs: 10 * MINUTE, comesBack: 'gradually' },
});

test('grants as many concurrent attempts as the rate allows, over all replicas', async () => {
  const [one, two] = [await replica(), await replica()];
  const all = await Promise.all(
    Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? one : two).reserve([claim('a', 10)])),
  );
  expect(all.filter(({ granted }) => granted)).toHaveLength(10);
  expect(await one.reserve([claim('b', 10)])).toMatchObject({ granted: true, left: [9] });
});

test('grants one more attempt after the interval of one, and returns when', async () => {
  const limit = await replica();
  for (let i = 0; i < 10; i++) expect(await limit.reserve([claim('a', 10)])).toMatchObject({ left: [9 - i] });
  expect(await limit.reserve([claim('a', 10)])).toMatchObject({ granted: false, retryAfterSeconds: 60 });
  at += MINUTE / 2;
  expect(await limit.reserve([claim('a', 10)])).toMatchObject({ granted: false, retryAfterSeconds: 30 });
  at += MINUTE / 2;
  expect(await limit.reserve([claim('a', 10)])).toMatchObject({ granted: true, left: [0] });
  expect(await limit.reserve([claim('a', 10)])).toMatchObject({ granted: false, retryAfterSeconds: 60 });
  at += 10 * MINUTE;
  expect(await limit.reserve([claim('a', 10)])).toMatchObject({ granted: true, left: [9] });
});

test('grants nothing until the window of the first attempt ends if attempts come back together', async () => {
  const limit = await replica();
  const whole: Claim = { key: ['a'], rate: { count: 3, windowMs: 10 * MINUTE, comesBack: 'together' } };
  const all = await Promise.all(Array.from({ length: 20 }, () => limit.reserve([whole])));
  expect(all.filter(({ granted }) => granted)).toHaveLength(3);
  at += 4 * MINUTE;
  expect(await limit.reserve([whole])).toMatchObject({ granted: false, retryAfterSeconds: 360 });
  const [first] = all;
  if (first?.granted) await first.release();
  expect(await limit.reserve([whole])).toMatchObject({ granted: true, left: [0] });
  at += 6 * MINUTE;
  expect(await limit.reserve([whole])).toMatchObject({ granted: true, left: [2] });
});

test('counts against all claims or none', async () => {
  const limit = await replica();
  const [narrow, wide] = [claim('narrow', 1), claim('wide', 3)];
  await limit.reserve([narrow, wide]);
  expect(await limit.reserve([narrow, wide])).toMatchObject({ granted: false, claim: narrow });
  expect(await limit.reserve([claim('other', 1), wide])).toMatchObject({ granted: true, left: [0, 1] });
  expect(await limit.reserve([claim('third', 1), wide])).toMatchObject({ granted: true, left: [0, 0] });
  expect(await limit.reserve([claim('fourth', 1), wide])).toMatchObject({ granted: false, claim: wide });
});

test('takes back a released attempt, and drops counts that are back to zero', async () => {
  const limit = await replica();
  const reserved = await limit.reserve([claim('a', 1)]);
  expect(await limit.reserve([claim('a', 1)])).toMatchObject({ granted: false });
  if (reserved.granted) await reserved.release();
  const records = await database.store('test').collection(spec);
  expect(await records.count({})).toBe(0);
  expect(await limit.reserve([claim('a', 1)])).toMatchObject({ granted: true });
  await limit.dropDrained();
  expect(await records.count({})).toBe(1);
  at += 10 * MINUTE;
  await limit.dropDrained();
  expect(await records.count({})).toBe(0);
});

test('processes reserve batches of one rate: never more than it allows, and attempts spent beforehand count', async () => {
  const [one, two] = [await replica(), await replica()];
  const whole: Claim = { key: ['a'], rate: { count: 100, windowMs: MINUTE, comesBack: 'together' } };
  expect(await one.reserveBatch(whole, { wanted: 10, spent: 4 })).toEqual({ granted: 10, left: 86, resetMs: MINUTE });
  at += MINUTE / 2;
  expect(await two.reserveBatch(whole, { wanted: 50, spent: 0 })).toEqual({
    granted: 22,
    left: 64,
    resetMs: MINUTE / 2,
  });
  const slices = await Promise.all(
    Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? one : two).reserveBatch(whole, { wanted: 3, spent: 0 })),
  );
  expect(slices.reduce((sum, { granted }) => sum + granted, 0)).toBe(64);
  expect(await one.reserveBatch(whole, { wanted: 1, spent: 7 })).toMatchObject({ granted: 0, left: 0 });
  expect(await one.reserve([whole])).toMatchObject({ granted: false });
  at += MINUTE / 2;
  expect(await one.reserveBatch(whole, { wanted: 1, spent: 0 })).toEqual({ granted: 1, left: 99, resetMs: MINUTE });
});
