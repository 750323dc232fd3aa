import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { isStorageFull, StorageFull } from '../src/errors/index.js';
import { silentLog } from '../src/log/index.js';
import { BALLAST_FILE, openSpaceGuard, type SpaceGuard, withRoom } from '../src/space/index.js';
import { gather } from '../src/telemetry/instruments.js';

const MIB = 2 ** 20;
let folder: string;
let free: number;
let logged: string[];
let guard: SpaceGuard;

const log = { ...silentLog, error: (event: string) => logged.push(event), warn: (event: string) => logged.push(event) };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'commonplace-space-'));
  logged = [];
});
afterEach(() => {
  guard.close();
  rmSync(folder, { recursive: true });
});

async function open(freeMib: number, more: { reserveBytes?: number; diskMib?: number; reusable?: () => number } = {}) {
  const { reserveBytes = 64 * MIB, diskMib = 10_000, reusable = () => 0 } = more;
  free = freeMib * MIB;
  const statfs = async () => ({ bavail: free / 4096, blocks: (diskMib * MIB) / 4096, bsize: 4096 });
  guard = await openSpaceGuard({ folder, reserveBytes, log: log as never, statfs, reusableBytes: reusable });
}

const isRefused = (): boolean => {
  try {
    guard.requireRoom();
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: 'UNAVAILABLE', reason: 'storage_full', retryAfter: 30 });
    return true;
  }
};

test('writes are refused below the reserve, and accepted again some way above it', async () => {
  await open(1000);
  expect(isRefused()).toBe(false);
  free = 63 * MIB;
  await guard.look();
  expect([isRefused(), logged]).toEqual([true, ['storage.full']]);
  free = 66 * MIB;
  await guard.look();
  expect(isRefused()).toBe(true);
  free = 80 * MIB;
  await guard.look();
  expect([isRefused(), logged]).toEqual([false, ['storage.full', 'storage.has_room']]);
});

test('a small disk has a small reserve, and 0 means none', async () => {
  await open(10, { diskMib: 100 });
  expect(isRefused()).toBe(false);
  free = 4 * MIB;
  await guard.look();
  expect(isRefused()).toBe(true);
  guard.close();
  await open(0, { reserveBytes: 0 });
  expect(isRefused()).toBe(false);
  expect(existsSync(join(folder, BALLAST_FILE))).toBe(false);
});

test('space that later writes can reuse counts as long as the disk has some space', async () => {
  await open(30, { reusable: () => 500 * MIB });
  expect(isRefused()).toBe(false);
  free = 10 * MIB;
  await guard.look();
  expect(isRefused()).toBe(true);
});

test('a write that the disk refuses is retried once with the space of the reserve', async () => {
  await open(1000);
  const ballast = join(folder, BALLAST_FILE);
  expect(statSync(ballast).size).toBe(8 * MIB);
  let tries = 0;
  const write = async () => {
    tries++;
    if (existsSync(ballast)) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    return 'written';
  };
  expect(await withRoom(guard, write)).toBe('written');
  expect([tries, isRefused()]).toEqual([2, true]);
  const never = () => Promise.reject(StorageFull());
  await expect(withRoom(guard, never)).rejects.toMatchObject({ reason: 'storage_full' });
  await guard.look();
  expect([isRefused(), existsSync(ballast)]).toEqual([false, true]);
  const other = new Error('something else');
  await expect(withRoom(guard, () => Promise.reject(other))).rejects.toBe(other);
  expect(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'EIO'].map((code) => isStorageFull({ code }))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

test('the free bytes and the size of the disk are metrics', async () => {
  await open(1000, { diskMib: 4000 });
  const points = new Map((await gather()).map(({ spec, points: [point] }) => [spec.name, point]));
  expect(points.get('storage.free')).toMatchObject({ value: 1000 * MIB });
  expect(points.get('storage.size')).toMatchObject({ value: 4000 * MIB });
});
