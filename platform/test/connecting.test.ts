import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { openGrpcChannel, openGrpcServer } from '@commonplace/adapters/grpc';
import { createPeerTokens } from '@commonplace/kit/auth';
import type { ServedMethod } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { contracts } from '../src/contracts/index.js';

/** Tests calls to a process that hangs: its machine accepts connections, and nothing answers on them. */
const peers = createPeerTokens(Buffer.alloc(32), 'test');
const sockets = new Set<Socket>();
let real: Awaited<ReturnType<typeof openGrpcServer>>;
let hangs = true;
const front = createServer((socket) => {
  sockets.add(socket.on('error', () => {}));
  if (hangs) return;
  const onward = connect(real.port, '127.0.0.1').on('error', () => {});
  sockets.add(onward);
  socket.pipe(onward).pipe(socket);
});

beforeAll(async () => {
  const methods = new Map<string, ServedMethod>();
  for (const { path, responseStream } of Object.values(contracts.index.definition)) {
    const stream = async function* () {};
    methods.set(path, { streams: responseStream, unary: async () => ({ counts: [] }), stream });
  }
  real = await openGrpcServer({ host: '127.0.0.1', port: 0, definitions: [contracts.index.definition], methods });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => front.close(resolve));
  await real.close(0);
});

test('calls do not wait for a process that hangs until their deadline, and are answered once it goes on', async () => {
  const channel = openGrpcChannel(() => `127.0.0.1:${(front.address() as AddressInfo).port}`, peers);
  const client = channel.client(contracts.index);
  const ask = (withinMs = 600_000) =>
    client.countResources(
      { workspaceIds: [], readableIds: [] },
      { metadata: { requestId: 'r' }, deadline: Date.now() + withinMs },
    );
  const unavailable = { reason: 'service_unavailable', retryAfter: 1 };

  const late = expect(ask(100)).rejects.toMatchObject({ reason: 'timeout' });
  await Promise.all([late, expect(ask()).rejects.toMatchObject(unavailable)]);
  // Later calls do not wait at all, not even until a deadline that is near.
  await expect(ask(1000)).rejects.toMatchObject(unavailable);

  hangs = false;
  for (const socket of sockets) socket.destroy();
  await eventually(ask);
  await channel.close();
}, 60_000);
