import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readSweep, saveSweep, sweepCollection } from '@commonplace/files/blobs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { BLOBS } from '../src/backup/manifest.js';
import { EXIT } from '../src/exit.js';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

let folder: DataFolder;
beforeEach(async () => {
  folder = await makeDataFolder();
});
afterEach(() => folder.remove());

/** Puts bytes into the trash like the sweeper does. Returns their former key. */
function trashed(day: string): string {
  const id = randomUUID();
  const key = `${id.slice(-2)}/${id}`;
  const path = join(folder.dataDir, BLOBS, 'trash', day, key);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'swept');
  return key;
}

async function run(...args: string[]) {
  const { code, stdout } = await commonplace(['sweeper', ...args, '--data-dir', folder.dataDir, '--json']);
  return { code, answer: JSON.parse(stdout) };
}

test('lists the trash, and restores single objects or all of them', async () => {
  const [first, second] = [trashed('2026-11-20'), trashed('2026-11-21')];
  const listed = await run('list');
  expect(listed.answer.trash).toEqual(
    expect.arrayContaining([
      { key: first, trashedOn: '2026-11-20', sizeBytes: 5 },
      { key: second, trashedOn: '2026-11-21', sizeBytes: 5 },
    ]),
  );
  expect((await run('restore', first, '--all')).code).toBe(EXIT.usage);
  expect((await run('restore', first)).answer).toEqual({ restored: [first], kept: [] });
  expect(readFileSync(join(folder.dataDir, BLOBS, first), 'utf8')).toBe('swept');
  expect(existsSync(join(folder.dataDir, BLOBS, second))).toBe(false);
  expect((await run('restore', '--all')).answer).toEqual({ restored: [second], kept: [] });
  expect((await run('list')).answer.trash).toEqual([]);
});

test('keeps bytes whose key is in use, and reports keys that are not in the trash', async () => {
  const key = trashed('2026-11-20');
  const path = join(folder.dataDir, BLOBS, key);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'newer');
  expect((await run('restore', key)).answer).toEqual({ restored: [], kept: [key] });
  expect(readFileSync(path, 'utf8')).toBe('newer');
  expect((await run('restore', 'ab/none')).code).toBe(EXIT.missing);
  expect((await run('restore')).code).toBe(EXIT.usage);
});

test('allows a held sweep only for the objects that it held back', async () => {
  expect((await run('allow')).answer).toEqual({ allowed: 0 });
  const store = folder.database.store('files');
  const sweeps = await store.collection(sweepCollection);
  await saveSweep({ store, sweeps }, { held: 40, objects: 100, allowed: 0 });
  expect((await run('list')).answer).toMatchObject({ held: 40, objects: 100 });
  expect((await run('allow')).answer).toEqual({ allowed: 40 });
  expect(await readSweep(sweeps)).toMatchObject({ held: 40, objects: 100, allowed: 40 });
});
