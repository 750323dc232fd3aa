import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { filesBelow } from '../src/backup/files.js';
import { nameOf, openSeries } from '../src/backup/series.js';
import { openUpload } from '../src/backup/sink.js';
import { takeBackup } from '../src/backup/take.js';
import { EXIT } from '../src/exit.js';
import { runProgram } from '../src/program.js';
import { silentProgress } from '../src/progress.js';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

let folder: DataFolder;
let env: NodeJS.ProcessEnv;
beforeEach(async () => {
  folder = await makeDataFolder();
  env = { COMMONPLACE_DATA_DIR: folder.dataDir };
});
afterEach(() => folder.remove());

const at = (...path: string[]) => join(folder.home, ...path);
const run = (...args: string[]) => runProgram([...args, '--json'], { ...process.env, ...env });

test('standard output contains a complete archive, and the result goes to standard error', async () => {
  await folder.addBlob();
  const { code, stdout, stderr } = await commonplace(['backup', '--to', '-'], env, () => {}, 'latin1');
  expect([code, stderr]).toEqual([0, expect.stringContaining('-: 1 records, 1 blobs')]);
  writeFileSync(at('piped.tar'), Buffer.from(stdout, 'latin1'));
  expect(await run('restore', '--from', at('piped.tar'), '--to', at('restored'))).toBe(EXIT.ok);
  expect((await filesBelow(at('restored'))).filter((path) => path.startsWith('files/blobs/'))).toHaveLength(1);
});

test('a reader that closes the pipe fails the backup, and leaves nothing in the data folder', async () => {
  for (let i = 0; i < 20; i++) await folder.addBlob(200_000);
  const stream = new PassThrough();
  const sink = openUpload(async (bytes) => {
    for await (const _ of bytes) {
      stream.destroy();
      throw new Error('the reader has left');
    }
  });
  const back = takeBackup({ dataDir: folder.dataDir, to: sink, bucket: false }, silentProgress);
  await expect(back).rejects.toThrow('the reader has left');
  expect((await filesBelow(folder.dataDir)).filter((path) => path.includes('stage'))).toEqual([]);
});

test('a truncated stream is not a backup', async () => {
  await folder.addBlob();
  await run('backup', '--to', at('whole.tar'));
  const whole = readFileSync(at('whole.tar'));
  for (const length of [0, 10, whole.length >> 1, whole.length - 1]) {
    writeFileSync(at('cut.tar'), whole.subarray(0, length));
    expect(await run('restore', '--from', at('cut.tar'), '--to', at('restored'))).toBe(EXIT.damaged);
  }
  expect(existsSync(at('restored'))).toBe(false);
});

test('--into adds one backup after another, and keeps the newest', async () => {
  const backups = at('backups');
  const old = ['2025-01-01', '2025-01-02', '2025-01-03'].map((day) => `commonplace-${day}t01-30-00z.tar`);
  mkdirSync(backups);
  for (const name of [...old, 'of-somebody-else.tar']) writeFileSync(join(backups, name), 'x');
  expect(await run('backup', '--into', backups, '--keep', '3')).toBe(EXIT.ok);
  const names = readdirSync(backups);
  expect(names).not.toContain(old[0]);
  expect(names).toContain('of-somebody-else.tar');
  expect(names.filter((name) => name.startsWith('commonplace-'))).toHaveLength(3);
});

test('--newest restores the newest backup, and --if-empty leaves existing data alone', async () => {
  const backups = at('backups');
  await run('backup', '--into', backups);
  writeFileSync(join(backups, 'commonplace-2025-01-01t01-30-00z.tar'), 'an old one that nobody can read');
  const restore = ['restore', '--newest', '--from', backups, '--to', at('restored'), '--if-empty'];
  expect(await run(...restore)).toBe(EXIT.ok);
  const before = readFileSync(at('restored', 'secret.key'));
  writeFileSync(at('restored', 'secret.key'), 'changed');
  expect(await run(...restore)).toBe(EXIT.ok);
  expect(readFileSync(at('restored', 'secret.key'), 'utf8')).toBe('changed');
  writeFileSync(at('restored', 'secret.key'), before);
  expect(await run('restore', '--newest', '--from', at('nowhere'), '--to', at('other'))).toBe(EXIT.missing);
});

test('refuses a command line with no target, two targets, or --keep for a single backup', async () => {
  for (const args of [[], ['--to', at('a'), '--into', at('b')], ['--to', at('a'), '--keep', '2']]) {
    expect(await run('backup', ...args)).toBe(EXIT.usage);
  }
  expect(await run('backup', '--into', at('b'), '--keep', '0')).toBe(EXIT.usage);
  expect(existsSync(at('b'))).toBe(false);
});

test('names sort by time', async () => {
  const times = [1e12, 1.7e12, 1.7e12 + 1000].map((ms) => nameOf(new Date(ms)));
  expect(times).toEqual([...times].sort());
  expect(times[0]).toBe('commonplace-2001-09-09t01-46-40z.tar');
  const series = await openSeries(at('none'));
  expect(await series.list()).toEqual([]);
});
