import { once } from 'node:events';
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { isOfOlderPeer } from '@commonplace/kit/errors';
import { credentials, Client as GrpcClient, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, expect, test } from '@jest/globals';
import { ofCode } from '../src/grpc/status.js';

const read = { isRead: true };
let server: Http2Server;
afterEach(() => new Promise<void>((resolve) => server.close(() => resolve())));

test('a call that the peer closes without a status can be retried', async () => {
  server = createServer();
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.close(0);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new GrpcClient(`127.0.0.1:${(server.address() as AddressInfo).port}`, credentials.createInsecure());
  const none = () => Buffer.alloc(0);
  const error = await new Promise<ServiceError>((resolve) => {
    client.makeUnaryRequest('/any.Service/Method', none, none, {}, { deadline: Date.now() + 20_000 }, (failure) =>
      resolve(failure as ServiceError),
    );
  });
  client.close();
  expect(error.code).toBe(status.INTERNAL);
  expect(ofCode(error.code, error, read)).toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(ofCode(error.code, error, { isRead: false })).toMatchObject({ code: 'UNAVAILABLE', reason: 'timeout' });
  expect(ofCode(status.INTERNAL, new Error('13 INTERNAL: a defect'), read)).toMatchObject({ code: 'INTERNAL' });
});

test('a call that the peer does not know is temporary: a process of the version before answers during an upgrade', () => {
  const error = ofCode(
    status.UNIMPLEMENTED,
    new Error('12 UNIMPLEMENTED: The server does not implement the method'),
    read,
  );
  expect(error).toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(isOfOlderPeer(error)).toBe(true);
  expect(isOfOlderPeer(ofCode(status.UNAVAILABLE, new Error('14 UNAVAILABLE'), read))).toBe(false);
});
