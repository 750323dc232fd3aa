import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { MongoServerError } from 'mongodb';
import { isBroken, isRefused, toKitError } from '../src/mongo/errors.js';

/** Returns the error of a socket write after the other side has closed. */
async function errorOfSocket(): Promise<unknown> {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  socket.resume();
  await once(socket, 'end');
  const failed = new Promise((resolve) => socket.write('x', resolve));
  server.close();
  return failed;
}

test('a socket error that the driver passes on means a broken connection', async () => {
  const error = await errorOfSocket();
  expect(error).toMatchObject({ code: 'EPIPE' });
  expect(isBroken(error)).toBe(true);
  expect(toKitError(error, 'read')).toMatchObject({ reason: 'service_unavailable', cause: error });
  expect(toKitError(error, 'write')).toMatchObject({ reason: 'timeout', cause: error });
});

test.each([
  [13, 'not authorized on commonplace_files to execute command'],
  [18, 'Authentication failed.'],
  [8000, 'bad auth : authentication failed'],
])('a server that refuses the credentials (%s) is unavailable', (code, message) => {
  const error = new MongoServerError({ code, message });
  for (const kind of ['read', 'write'] as const) {
    expect(toKitError(error, kind)).toMatchObject({ code: 'UNAVAILABLE', reason: 'service_unavailable', cause: error });
  }
  expect([isRefused(error), isRefused(new MongoServerError({ code: 26 }))]).toEqual([true, false]);
});

test.each([11602, 189, 134])('a server that is not the primary, or not ready to be (%s), is unavailable', (code) => {
  const error = new MongoServerError({ code, message: 'not now' });
  for (const kind of ['read', 'write'] as const) {
    expect(toKitError(error, kind)).toMatchObject({ reason: 'service_unavailable', cause: error });
  }
});

test('a defect stays as it is, and any other error becomes internal', () => {
  const defect = new TypeError('x is not a function');
  expect(toKitError(defect, 'read')).toBe(defect);
  expect(isBroken(new Error('ENOENT'))).toBe(false);
  expect(toKitError(new RangeError('out of range'), 'read')).toMatchObject({ reason: 'internal_error' });
});
