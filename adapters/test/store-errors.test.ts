import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { isBroken, toKitError } from '../src/mongo/errors.js';

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

test('an error of a socket that the driver lets out is a connection that broke', async () => {
  const error = await errorOfSocket();
  expect(error).toMatchObject({ code: 'EPIPE' });
  expect(isBroken(error)).toBe(true);
  expect(toKitError(error, 'read')).toMatchObject({ reason: 'service_unavailable', cause: error });
  expect(toKitError(error, 'write')).toMatchObject({ reason: 'timeout', cause: error });
});

test('a fault of our own is neither: a defect stays what it is, another error is internal', () => {
  const defect = new TypeError('x is not a function');
  expect(toKitError(defect, 'read')).toBe(defect);
  expect(isBroken(new Error('ENOENT'))).toBe(false);
  expect(toKitError(new RangeError('out of range'), 'read')).toMatchObject({ reason: 'internal_error' });
});
