import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readBytes } from '../src/http/index.js';

const TIMEOUT_MS = 100;

let server: Server;
let outcome: Promise<unknown>;

beforeEach(async () => {
  let settle = (_: unknown) => {};
  outcome = new Promise((resolve) => {
    settle = resolve;
  });
  server = createServer((request, response) => {
    readBytes(request, 1_000_000, TIMEOUT_MS).then(
      (bytes) => settle(bytes.length),
      (error: { reason?: string; type?: string }) => {
        settle(error.reason ?? error.type);
        response.writeHead(503, { Connection: 'close' }).end();
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends a request with a part of its body. Returns what the server answers. */
function send(announced: number, body: string, header = ''): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${announced}\r\n${header}\r\n${body}`);
  return new Promise((resolve) => {
    socket.once('data', (data) => {
      resolve(String(data).split('\r\n')[0] ?? '');
      socket.destroy();
    });
    socket.once('error', () => resolve('error'));
  });
}

test.each([10, 100_000])(
  'a body of %p bytes that does not arrive in time is answered with `timeout`',
  async (bytes) => {
    expect(await send(bytes, 'abc')).toBe('HTTP/1.1 503 Service Unavailable');
    expect(await outcome).toBe('timeout');
  },
);

test('a whole body is returned', async () => {
  void send(3, 'abc');
  expect(await outcome).toBe(3);
});

test('a compressed body is refused', async () => {
  void send(3, 'abc', 'Content-Encoding: gzip\r\n');
  expect(await outcome).toBe('unsupported_media_type');
});

test('a body with the coding identity is returned', async () => {
  void send(3, 'abc', 'Content-Encoding: Identity\r\n');
  expect(await outcome).toBe(3);
});

test('a body above the limit is refused', async () => {
  void send(2_000_000, 'abc');
  expect(await outcome).toBe('entity.too.large');
});
