import { utimes } from 'node:fs/promises';
import { newId } from '@commonplace/kit/id';
import { createOwnIds } from '@commonplace/kit/installation';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { blobKey, parseTrashKey, thumbnailKey, trashKey, uploadKey } from '../src/domain/layout.js';
import { readSweep, saveSweep } from '../src/storage/sweep.js';
import type { SweeperParts } from '../src/uploads/parts.js';
import { createSweeper } from '../src/uploads/sweeper.js';
import { openParts, type TestParts } from './parts.js';

/** These tests cover what the sweeper does with stored bytes that no record names. */

const DAY_MS = 86_400_000;
let played: TestParts;
let parts: SweeperParts;

beforeEach(async () => {
  played = await openParts();
  parts = played.parts;
});
afterEach(() => played.close());

const withSettings = (settings: Partial<SweeperParts['settings']>) =>
  played.other({ settings: { ...parts.settings, sweepGraceDays: 7, ...settings } });
const sweep = (settings: Partial<SweeperParts['settings']> = {}) => createSweeper(withSettings(settings)).pass(true);

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of parts.bytes.list('')) found.push(key);
  return found.sort();
}

/** Stores bytes that no record names, dated `days` days ago. */
async function orphan(days: number, key = blobKey(parts.ids.create())): Promise<string> {
  await parts.bytes.put(key, [Buffer.from('orphan')]);
  const at = new Date(Date.now() - days * DAY_MS);
  await utimes(parts.bytes.path(key) as string, at, at);
  return key;
}

/** Stores bytes that a record names. */
async function known(): Promise<void> {
  const id = parts.ids.create();
  await parts.bytes.put(blobKey(id), [Buffer.from('known')]);
  const work = parts.store.begin();
  work.insert(parts.blobs, { id, sizeBytes: 5, sha256: '0'.repeat(64), uses: 1 });
  await work.commit();
}

test('moves bytes without a record into the trash after the grace period', async () => {
  const young = await orphan(6.9);
  const old = await orphan(7.1);
  expect(await sweep()).toMatchObject({ orphans: 1 });
  expect(await keys()).toEqual([young, trashKey(old, new Date())].sort());
});

test('never touches bytes, thumbnails and uploads that this installation has not stored', async () => {
  const foreign = createOwnIds(newId());
  const kept = [
    await orphan(100, blobKey(foreign.create())),
    await orphan(100, thumbnailKey(foreign.create(), 64)),
    await orphan(100, uploadKey(foreign.create())),
    // An id of an earlier release, which does not prove the installation that created it.
    await orphan(100, blobKey(newId())),
    await orphan(100, 'somebody/elses'),
    await orphan(100, trashKey(blobKey(foreign.create()), new Date(0))),
  ];
  expect(await sweep()).toMatchObject({ orphans: 0, purged: 0 });
  expect(await keys()).toEqual(kept.sort());
});

test('aborts only own parts of uploads after the same period', async () => {
  const own = blobKey(parts.ids.create());
  const foreign = blobKey(createOwnIds(newId()).create());
  for (const key of [own, foreign]) await parts.bytes.beginParts(key);
  expect(await sweep()).toMatchObject({ orphans: 0 });
  expect(await sweep({ sweepGraceDays: 0 })).toMatchObject({ orphans: 1 });
  const left: string[] = [];
  for await (const { key } of parts.bytes.unfinished('')) left.push(key);
  expect(left).toEqual([foreign]);
});

test('deletes bytes from the trash when its period is over', async () => {
  const key = blobKey(parts.ids.create());
  const recent = trashKey(key, new Date(Date.now() - 29 * DAY_MS));
  const over = trashKey(key, new Date(Date.now() - 32 * DAY_MS));
  await orphan(40, recent);
  await orphan(40, over);
  expect(await sweep()).toMatchObject({ orphans: 0, purged: 1 });
  expect(await keys()).toEqual([recent]);
  expect(parseTrashKey(recent)?.key).toBe(key);
});

test('starts the grace period again for restored bytes', async () => {
  const key = await orphan(8);
  await sweep();
  await parts.bytes.move(trashKey(key, new Date()), key);
  expect(await sweep()).toMatchObject({ orphans: 0 });
  expect(await keys()).toEqual([key]);
});

test('waits for an operator before moving a large share of the store', async () => {
  for (let i = 0; i < 8; i++) await orphan(8);
  for (let i = 0; i < 12; i++) await known();
  const bounds = { sweepObjects: 5, sweepPercent: 10 };
  expect(await sweep(bounds)).toMatchObject({ orphans: 0 });
  expect(await readSweep(parts.sweeps)).toMatchObject({ held: 8, objects: 20, allowed: 0 });
  expect((await keys()).filter((key) => key.startsWith('trash/'))).toEqual([]);
  await saveSweep(parts, { held: 8, objects: 20, allowed: 8 });
  expect(await sweep(bounds)).toMatchObject({ orphans: 8 });
  expect(await readSweep(parts.sweeps)).toMatchObject({ held: 0, allowed: 0 });
});

test('waits again for more than an operator has allowed', async () => {
  for (let i = 0; i < 9; i++) await orphan(8);
  await saveSweep(parts, { held: 8, objects: 20, allowed: 8 });
  expect(await sweep({ sweepObjects: 5, sweepPercent: 10 })).toMatchObject({ orphans: 0 });
  expect(await readSweep(parts.sweeps)).toMatchObject({ held: 9, allowed: 0 });
});

test('moves a few objects of any share, and a small share of any number', async () => {
  for (let i = 0; i < 3; i++) await orphan(8);
  expect(await sweep({ sweepObjects: 3, sweepPercent: 0 })).toMatchObject({ orphans: 3 });
  for (let i = 0; i < 4; i++) await orphan(8);
  for (let i = 0; i < 4; i++) await known();
  expect(await sweep({ sweepObjects: 0, sweepPercent: 50 })).toMatchObject({ orphans: 4 });
});

test('waits when another system with a copy of the records stores bytes', async () => {
  for (let i = 0; i < 2; i++) await orphan(8);
  for (let i = 0; i < 4; i++) await orphan(0);
  for (let i = 0; i < 14; i++) await known();
  expect(await sweep({ sweepObjects: 5, sweepPercent: 10 })).toMatchObject({ orphans: 0 });
  expect(await readSweep(parts.sweeps)).toMatchObject({ held: 6, objects: 20 });
});

test('deletes nothing from a store that another installation has claimed', async () => {
  const old = await orphan(8);
  const dead = blobKey(parts.ids.create());
  await parts.bytes.put(dead, [Buffer.from('dead')]);
  const work = parts.store.begin();
  const facts = { sizeBytes: 4, sha256: '0'.repeat(64), uses: 0, deadAt: new Date(0).toISOString() };
  work.insert(parts.blobs, { id: dead.slice(3), ...facts });
  await work.commit();
  for (const installationId of [async () => newId(), async () => undefined]) {
    const bytes = { ...parts.bytes, installationId };
    const other = played.other({ bytes, settings: { ...parts.settings, sweepGraceDays: 0 } });
    expect(await createSweeper(other).pass(true)).toMatchObject({ deleted: 0, orphans: 0 });
  }
  expect(await keys()).toEqual([old, dead].sort());
});
