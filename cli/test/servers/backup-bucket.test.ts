import { join } from 'node:path';
import { openBucket } from '@commonplace/files/blobs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { filesBelow } from '../../src/backup/files.js';
import { openSeries } from '../../src/backup/series.js';
import { EXIT } from '../../src/exit.js';
import { commonplace } from '../commonplace.js';
import { type DataFolder, makeDataFolder } from '../data-folder.js';

const bucket = process.env.COMMONPLACE_S3_URL;
if (bucket === undefined) throw new Error('COMMONPLACE_S3_URL is not set: node scripts/with-servers.mjs sets it');

let folder: DataFolder;
let place: string;
beforeAll(async () => {
  folder = await makeDataFolder();
  const url = new URL(bucket);
  url.pathname += `/backups-${process.pid}`;
  place = url.href;
});
afterAll(() => folder?.remove());

const run = (...args: string[]) =>
  commonplace([...args, '--json'], {
    COMMONPLACE_DATA_DIR: folder.dataDir,
    COMMONPLACE_MONGODB_URL: '',
    COMMONPLACE_NATS_URL: '',
    COMMONPLACE_S3_URL: '',
  });

test('a bucket keeps the newest backups, and each can be restored', async () => {
  // More than one part of an upload.
  await folder.addBlob(70 * 1024 * 1024);
  for (let i = 0; i < 3; i++) {
    const { code, stdout, stderr } = await run('backup', '--into', place, '--keep', '2');
    expect([code, stderr]).toEqual([EXIT.ok, expect.stringContaining('Writing the backup')]);
    expect(stdout).not.toContain('for-tests-alone');
  }
  const series = await openSeries(place);
  const names = await series.list();
  await series.close();
  expect(names).toHaveLength(2);
  const url = new URL(place);
  url.pathname += `/${names[0]}`;
  for (const from of [
    ['--from', place, '--newest'],
    ['--from', url.href],
  ]) {
    const to = join(folder.home, `restored-${from.length}`);
    const { code, stderr, stdout } = await run('restore', ...from, '--to', to);
    expect([code, stderr]).toEqual([EXIT.ok, expect.any(String)]);
    expect(stdout).not.toContain('for-tests-alone');
    expect((await filesBelow(to)).filter((path) => path.startsWith('files/blobs/'))).toHaveLength(1);
  }
}, 120_000);

test('a backup that fails leaves nothing in the bucket', async () => {
  const series = await openSeries(place);
  const before = await series.list();
  const sink = await series.openSink('commonplace-2030-01-01t00-00-00z.tar');
  await sink.add('a', [Buffer.from('x')] as unknown as AsyncIterable<Uint8Array>, 1);
  await sink.abort();
  expect(await series.list()).toEqual(before);
  await series.close();
  const store = await openBucket(place);
  const unfinished: unknown[] = [];
  for await (const one of store.unfinished('')) unfinished.push(one);
  expect(unfinished).toEqual([]);
  await store.close();
});
