import { newId } from '@commonplace/kit/id';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { blobKey } from '../src/domain/layout.js';
import { createThumbnails } from '../src/downloads/thumbnails.js';
import { type Media, MediaFailure } from '../src/media/index.js';
import type { Version } from '../src/storage/records.js';
import { openParts, type TestParts } from './parts.js';

let world: TestParts;
beforeEach(async () => {
  world = await openParts();
});
afterEach(() => world.close());

/** Stores bytes. Returns a version of them, whose thumbnails are made by `make`, and how many were tried. */
async function version(make: () => Promise<Buffer>) {
  const { bytes } = world.parts;
  const blobId = newId();
  await bytes.put(blobKey(blobId), [Buffer.from('an image')]);
  let tried = 0;
  const thumbnail = async () => {
    tried++;
    return { bytes: await make(), width: 1, height: 1 };
  };
  const thumbnails = createThumbnails({ bytes, media: { thumbnail } as unknown as Media });
  const of = { id: newId(), tenant: 't', blobId } as Version;
  return { ensure: (width: number) => thumbnails.ensure(of, width), tried: () => tried };
}

test('are made once for each width', async () => {
  const { ensure, tried } = await version(async () => Buffer.from('webp'));
  expect(await Promise.all([ensure(256), ensure(256), ensure(64)])).toEqual([true, true, true]);
  expect(await ensure(64)).toBe(true);
  expect(tried()).toBe(2);
});

test('that cannot be made are tried once an hour, whatever their width', async () => {
  const { ensure, tried } = await version(() => Promise.reject(new MediaFailure('timeout', 'too slow')));
  expect(await Promise.all([ensure(256), ensure(256), ensure(64)])).toEqual([false, false, false]);
  expect(await ensure(512)).toBe(false);
  expect(tried()).toBe(1);
  const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_700_000);
  try {
    expect(await ensure(256)).toBe(false);
  } finally {
    clock.mockRestore();
  }
  expect(tried()).toBe(2);
});

test('that failed because the service stops are tried again', async () => {
  const { ensure, tried } = await version(() => Promise.reject(new MediaFailure('closed', 'closed')));
  await expect(ensure(256)).rejects.toThrow('closed');
  await expect(ensure(256)).rejects.toThrow('closed');
  expect(tried()).toBe(2);
});
