import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { openSqliteDatabase } from '@commonplace/adapters/sqlite';
import { FILES_FOLDER, openKeyRecords, usedKeys } from '@commonplace/files/blobs';
import { DATABASE_FILE } from '@commonplace/platform/runtime';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { filesBelow, measureFile } from '../src/backup/files.js';
import { BLOBS, MANIFEST, type Manifest, SEAL } from '../src/backup/manifest.js';
import { restoreBackup } from '../src/backup/restore.js';
import { takeBackup } from '../src/backup/take.js';
import { EXIT } from '../src/exit.js';
import { type Progress, silentProgress } from '../src/progress.js';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

let folder: DataFolder;
beforeEach(async () => {
  folder = await makeDataFolder();
});
afterEach(() => folder.remove());

const at = (...path: string[]) => join(folder.home, ...path);
const back = (to: string, progress: Progress = silentProgress) =>
  takeBackup({ dataDir: folder.dataDir, to: at(to), bucket: false }, progress);
const restore = (from: string, to: string) => restoreBackup({ from: at(from), to: at(to) }, silentProgress);

const SYNC_MS = 5;

/** Returns the SHA-256 of each file below a folder. */
async function sumsOf(path: string): Promise<Record<string, string>> {
  const sums: Record<string, string> = {};
  for (const name of await filesBelow(path)) sums[name] = (await measureFile(join(path, name))).sha256;
  return sums;
}

/**
 * Returns the checksums of a manifest's files without the database. Like its log and the mark, it differs between
 * installations.
 */
function contentIn(manifest: Manifest): Record<string, string> {
  const { [DATABASE_FILE]: _, ...content } = sumsIn(manifest);
  return content;
}

async function contentOf(path: string): Promise<Record<string, string>> {
  // The driver may close the database, and delete its empty log, some time after the call that closes it.
  for (const suffix of ['-wal', '-shm']) rmSync(join(path, DATABASE_FILE + suffix), { force: true });
  const { [DATABASE_FILE]: records, [MARK]: mark, ...content } = await sumsOf(path);
  expect([records, mark]).not.toContain(undefined);
  return content;
}

const MARK = `${FILES_FOLDER}/installation.json`;
const sumsIn = ({ files }: Manifest) => Object.fromEntries(files.map(({ path, sha256 }) => [path, sha256]));

describe.each(['backup', 'backup.tar'])('to %s', (to) => {
  test('restores what was backed up, and leaves nothing in the data folder', async () => {
    for (let i = 0; i < 12; i++) await folder.addBlob();
    const manifest = await back(to);
    expect(manifest).toMatchObject({ blobs: 12, records: { 'files.blobs': 12 }, missingBlobs: [] });
    await restore(to, 'restored');
    expect(await contentOf(at('restored'))).toEqual(contentIn(manifest));
    const blobs = (sums: Record<string, string>) => Object.entries(sums).filter(([path]) => path.startsWith(BLOBS));
    expect(blobs(await sumsOf(folder.dataDir))).toEqual(blobs(sumsIn(manifest)));
    expect((await filesBelow(folder.dataDir)).filter((path) => path.includes('stage'))).toEqual([]);
  });

  test('contains all bytes that its records name, while others are created and deleted', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 40; i++) ids.push(await folder.addBlob(200));
    let stop = false;
    const busy = (async () => {
      while (!stop) {
        ids.push(await folder.addBlob(200));
        await folder.deleteBlob(ids.shift() as string);
        // Simulates the time that a disk takes to sync, since the folder may be in memory.
        await setTimeout(SYNC_MS);
      }
    })();
    try {
      for (let i = 0; i < 3; i++) {
        const name = `${i}-${to}`;
        const manifest = await back(name);
        expect(manifest.missingBlobs).toEqual([]);
        await restore(name, `restored-${i}`);
        const database = await openSqliteDatabase({ file: at(`restored-${i}`, 'commonplace.db') });
        const paths = new Set(manifest.files.map(({ path }) => path));
        let count = 0;
        for await (const { key } of usedKeys(await openKeyRecords(database.store('files')))) {
          count++;
          expect(paths).toContain(BLOBS + key);
        }
        await database.close();
        expect(count).toBeGreaterThanOrEqual(40);
      }
    } finally {
      stop = true;
      await busy;
    }
  }, 120_000);

  test('contains bytes that are deleted while it is written', async () => {
    const ids = [await folder.addBlob(), await folder.addBlob()];
    let deleting: Promise<unknown> = Promise.resolve();
    const manifest = await back(to, {
      ...silentProgress,
      step(name) {
        if (name === 'Checking the copy') deleting = Promise.all(ids.map((id) => folder.deleteBlob(id)));
      },
    });
    await deleting;
    expect(manifest).toMatchObject({ blobs: 2, missingBlobs: [] });
    expect(await filesBelow(join(folder.dataDir, BLOBS))).toEqual([]);
    await restore(to, 'restored');
    expect(await contentOf(at('restored'))).toEqual(contentIn(manifest));
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('leaves nothing where %s ends it', async (signal) => {
    for (let i = 0; i < 20; i++) await folder.addBlob(1_000_000);
    const args = ['backup', '--to', at(to), '--data-dir', folder.dataDir];
    const ended = await commonplace(args, {}, (text, kill) => text.includes('Copying the records') && kill(signal));
    expect(ended.code).toBeNull();
    expect((await filesBelow(folder.home)).filter((path) => /backup|stage/.test(path))).toEqual([]);
    expect((await commonplace(args)).code).toBe(EXIT.ok);
  });

  test('refuses a target that exists, and restores only into an empty folder', async () => {
    await back(to);
    await expect(back(to)).rejects.toMatchObject({ exitCode: EXIT.taken });
    await restore(to, 'restored');
    await expect(restore(to, 'restored')).rejects.toMatchObject({ exitCode: EXIT.taken });
    await expect(restore('elsewhere', 'other')).rejects.toMatchObject({ exitCode: EXIT.missing });
    expect(existsSync(at('other'))).toBe(false);
  });
});

describe('a damaged backup is refused, and nothing is written', () => {
  async function refused(from: string): Promise<void> {
    await expect(restore(from, 'restored')).rejects.toMatchObject({ exitCode: EXIT.damaged });
    expect(existsSync(at('restored'))).toBe(false);
  }

  function flip(path: string, byte: number, bit: number): void {
    const bytes = readFileSync(path);
    bytes[byte] = (bytes[byte] as number) ^ (1 << bit);
    writeFileSync(path, bytes);
  }

  test('for one changed bit in any file of a folder', async () => {
    await folder.addBlob();
    await back('backup');
    for (const path of await filesBelow(at('backup'))) {
      const file = at('backup', path);
      const { length } = readFileSync(file);
      for (const byte of [0, Math.floor(length / 2), length - 1]) {
        flip(file, byte, byte % 8);
        await refused('backup');
        flip(file, byte, byte % 8);
      }
    }
    await restore('backup', 'restored');
  });

  test('for one changed bit anywhere in an archive: in bytes, headers, padding, its end and its checksum', async () => {
    await folder.addBlob(700);
    await back('backup.tar');
    const { length } = readFileSync(at('backup.tar'));
    const places = [0, 100, 156, 300, 511, 600, 5000, length - 65 - 700, length - 65 - 1, length - 65, length - 30];
    for (const byte of [...places, length - 1]) {
      flip(at('backup.tar'), byte, byte % 8);
      await refused('backup.tar');
      flip(at('backup.tar'), byte, byte % 8);
    }
    await restore('backup.tar', 'restored');
  });

  test('for a missing, additional or truncated file, and for a truncated archive', async () => {
    const id = await folder.addBlob();
    await back('backup');
    await back('backup.tar');
    const bytes = readFileSync(at('backup.tar'));
    writeFileSync(at('cut.tar'), bytes.subarray(0, bytes.length - 512));
    await refused('cut.tar');
    writeFileSync(at('empty.tar'), '');
    await refused('empty.tar');
    writeFileSync(at('backup', 'stranger'), '');
    await refused('backup');
    rmSync(at('backup', 'stranger'));
    const blob = at('backup', BLOBS, id.slice(-2), id);
    writeFileSync(blob, readFileSync(blob).subarray(1));
    await refused('backup');
    rmSync(blob);
    await refused('backup');
    rmSync(at('backup', SEAL));
    await refused('backup');
  });

  test('for a manifest that names files elsewhere, or has a newer version', async () => {
    await back('backup');
    const rewrite = (change: (manifest: Record<string, unknown>) => object) => {
      const text = JSON.stringify(change(JSON.parse(readFileSync(at('backup', MANIFEST), 'utf8'))));
      writeFileSync(at('backup', MANIFEST), text);
      writeFileSync(at('backup', SEAL), `${createHash('sha256').update(text).digest('hex')}\n`);
    };
    rewrite((manifest) => ({ ...manifest, format: 2 }));
    await expect(restore('backup', 'restored')).rejects.toThrow(/newer/);
    const outside = { path: '../outside', sizeBytes: 0, sha256: '0'.repeat(64) };
    rewrite((manifest) => ({ ...manifest, format: 1, files: [...(manifest.files as object[]), outside] }));
    await expect(restore('backup', 'restored')).rejects.toThrow(/names "\.\.\/outside"/);
  });
});

test('a backup of a damaged database fails, and leaves nothing', async () => {
  for (let i = 0; i < 20; i++) await folder.addBlob(10);
  const dataDir = await folder.damagedCopy();
  for (const to of ['backup', 'backup.tar']) {
    await expect(takeBackup({ dataDir, to: at(to), bucket: false }, silentProgress)).rejects.toThrow('malformed');
    expect(existsSync(at(to))).toBe(false);
  }
  expect(existsSync(at('backup.tar.part'))).toBe(false);
  expect(await filesBelow(dataDir)).not.toContainEqual(expect.stringContaining('stage'));
});

test('bytes missing from the data folder are reported, and all others are backed up', async () => {
  const [gone, kept] = [await folder.addBlob(), await folder.addBlob()];
  rmSync(join(folder.dataDir, BLOBS, gone.slice(-2), gone));
  const manifest = await back('backup');
  expect(manifest.missingBlobs).toEqual([`${gone.slice(-2)}/${gone}`]);
  expect(manifest.files.map(({ path }) => path)).toContain(`${BLOBS}${kept.slice(-2)}/${kept}`);
});
