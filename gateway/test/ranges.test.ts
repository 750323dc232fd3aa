import { sendDownload } from '@commonplace/site/downloads';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Koa from 'koa';

const BYTES = Buffer.from('0123456789');

describe('the range of a download', () => {
  let close: () => Promise<unknown>;
  let get: (range: string) => Promise<Response>;
  beforeAll(async () => {
    const app = new Koa();
    const file = {
      contentDisposition: 'attachment',
      contentType: 'text/plain',
      sizeBytes: BYTES.length,
      etag: 'e',
      sandboxed: true,
      expiresIn: 60,
    };
    app.use((ctx) =>
      sendDownload(ctx, file, (offset, length) => Promise.resolve(BYTES.subarray(offset, offset + length))),
    );
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    get = (range) => fetch(`http://127.0.0.1:${port}/`, { headers: { Range: range } });
    close = () => new Promise((resolve) => server.close(resolve));
  });
  afterAll(() => close());

  test.each([
    ['bytes=2-4', 206, '234'],
    ['bytes=-3', 206, '789'],
    ['bytes= -3', 206, '789'],
    ['bytes=-99', 206, '0123456789'],
    ['bytes=8-,-99', 206, '0123456789'],
    ['bytes=0-1,5-6', 200, '0123456789'],
    ['bytes=12-', 416, ''],
  ])('is read: %s', async (range, status, text) => {
    const answer = await get(range);
    expect([answer.status, await answer.text()]).toEqual([status, text]);
  });

  test('is read in proportion to the length of the header', async () => {
    await get('bytes=-3');
    const since = process.cpuUsage();
    expect((await get(`bytes=${' '.repeat(15_000)}-3`)).status).toBe(206);
    expect(process.cpuUsage(since).user).toBeLessThan(100_000);
  });
});
