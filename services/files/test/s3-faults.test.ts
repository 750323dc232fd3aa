import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import type { BlobStore } from '../src/blobs/port.js';
import { openS3Store } from '../src/blobs/s3.js';

const UNAVAILABLE = { code: 'UNAVAILABLE', reason: 'dependency_unavailable' };

let server: Server | undefined;
let store: BlobStore | undefined;

afterEach(async () => {
  await store?.close();
  server?.closeAllConnections();
  server?.close();
});

/** Opens a store in a bucket whose server answers as the test says. */
async function openBucket(answer: RequestListener): Promise<BlobStore> {
  const listening = createServer(answer);
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  store = openS3Store({ url: `http://key:secret@127.0.0.1:${(listening.address() as AddressInfo).port}/bucket` });
  return store;
}

const readAll = async (from: BlobStore): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of from.read('blobs/a')) chunks.push(chunk);
  return Buffer.concat(chunks);
};

test.each([
  [403, 'InvalidAccessKeyId'],
  [403, 'SignatureDoesNotMatch'],
  [403, 'AccessDenied'],
  [400, 'ExpiredToken'],
  [404, 'NoSuchBucket'],
  [429, 'TooManyRequests'],
  [500, 'InternalError'],
  [503, 'SlowDown'],
])('a bucket that answers %s %s is unavailable, for reads and for writes', async (status, code) => {
  const bucket = await openBucket((_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/xml' });
    response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
  });
  await expect(readAll(bucket)).rejects.toMatchObject(UNAVAILABLE);
  await expect(bucket.put('blobs/a', [Buffer.from('a')])).rejects.toMatchObject(UNAVAILABLE);
  await expect(bucket.delete('blobs/a')).rejects.toMatchObject(UNAVAILABLE);
});

test('a body that breaks off in the middle means that the bucket is unavailable', async () => {
  const bucket = await openBucket((_, response) => {
    response.writeHead(200, { 'Content-Length': 1_000_000 });
    response.write(Buffer.alloc(1000), () => response.destroy());
  });
  await expect(readAll(bucket)).rejects.toMatchObject(UNAVAILABLE);
});
