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
