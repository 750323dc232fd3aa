import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { blobContract } from '../src/blobs/contract.js';
import { openFolderStore } from '../src/blobs/folder.js';

const UNSIGNED = 'clients reach a folder through the gateway, which checks tokens of its own';

blobContract(
  'a folder',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'commonplace-blobs-'));
    const store = await openFolderStore(folder);
    return { store, close: async () => rmSync(folder, { recursive: true, force: true }) };
  },
  {
    'signs a URL that reads one key, with headers and ranges': UNSIGNED,
    'signs a URL that accepts only the announced bytes': UNSIGNED,
    'signs URLs of parts': UNSIGNED,
  },
);

test('a folder that somebody deletes is created again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-blobs-'));
  const store = await openFolderStore(folder);
  const put = (key: string) => store.put(key, [Buffer.from('words')]);
  try {
    await put('a/b/first');
    rmSync(join(folder, 'blobs'), { recursive: true });
    await put('a/b/second');
    expect(await store.size('a/b/first')).toBeUndefined();
    expect(await store.size('a/b/second')).toBe(5);
    rmSync(join(folder, 'blobs'), { recursive: true });
    await expect(store.move('a/b/second', 'a/b/third')).rejects.toMatchObject({ name: 'BlobMissing' });
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('of many reads at once, few end in one turn of the event loop, however long it takes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-blobs-'));
  const store = await openFolderStore(folder);
  try {
    await store.put('a/b', [Buffer.alloc(1000)]);
    let [turn, isDone] = [0, false];
    const busy = () => {
      turn++;
      const until = performance.now() + 10;
      while (performance.now() < until);
      if (!isDone) setImmediate(busy);
    };
    setImmediate(busy);
    const ended = new Map<number, number>();
    const read = async () => {
      for await (const _ of store.read('a/b')) ended.set(turn, (ended.get(turn) ?? 0) + 1);
    };
    await Promise.all(Array.from({ length: 60 }, read));
    isDone = true;
    expect([...ended.values()].reduce((sum, count) => sum + count)).toBe(60);
    expect(Math.max(...ended.values())).toBeLessThan(9);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
