import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { sendStreams } from '../src/middleware/streams.js';

/** Serves a body by Koa. Returns what a request receives, and how often the global `Response` was looked at. */
async function serve(body: () => unknown, use: (app: Koa) => void = (app) => app.use(sendStreams())) {
  const app = new Koa();
  const errors: unknown[] = [];
  app.on('error', (error) => errors.push(error));
  use(app);
  app.use((ctx) => {
    ctx.body = body();
  });
  const server = createServer(app.callback()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const before = Object.getOwnPropertyDescriptor(globalThis, 'Response') as PropertyDescriptor;
  const { port } = server.address() as AddressInfo;
  let looks = 0;
  const { Response: real } = globalThis;
  const look = () => {
    looks++;
    return real;
  };
  Object.defineProperty(globalThis, 'Response', { configurable: true, get: look });
  try {
    const text = await new Promise<string>((resolve) => {
      get({ port, host: '127.0.0.1' }, async (answer) => {
        let received = '';
        try {
          for await (const piece of answer) received += piece;
          resolve(received);
        } catch {
          resolve(`${received} (cut off)`);
        }
      });
    });
    return { text, looks, errors };
  } finally {
    Object.defineProperty(globalThis, 'Response', before);
    server.close();
  }
}

test('a stream is sent without a look at what Node would load an HTTP client for', async () => {
  expect(await serve(() => Readable.from(['a', 'b']))).toEqual({ text: 'ab', looks: 0, errors: [] });
  // Koa alone looks, and so it does for objects.
  expect(
    await serve(
      () => Readable.from(['a', 'b']),
      () => {},
    ),
  ).toMatchObject({ text: 'ab', looks: 1 });
});

test('a stream that fails cuts the answer off and is reported as by Koa', async () => {
  const failing = async function* () {
    yield 'a';
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new Error('no further piece');
  };
  const cut = await serve(() => Readable.from(failing()));
  expect(cut.text).toBe('a (cut off)');
  expect(cut.errors).toContainEqual(expect.objectContaining({ message: 'no further piece' }));
  const alone = await serve(
    () => Readable.from(failing()),
    () => {},
  );
  expect(cut).toEqual({ ...alone, looks: 0 });
});
