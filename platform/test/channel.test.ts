import { openGrpcChannel, openGrpcServer } from '@commonplace/adapters/grpc';
import { createLocalChannel } from '@commonplace/adapters/local';
import { createPeerTokens } from '@commonplace/kit/auth';
import { afterAll, expect, test } from '@jest/globals';
import { contracts } from '../src/contracts/index.js';
import { channelContract } from '../src/testing/index.js';

channelContract('local', async (methods, peers) => {
  const channel = createLocalChannel(methods, peers);
  return { channel, close: () => channel.close() };
});

channelContract('grpc', async (methods, peers) => {
  const definitions = [contracts.index.definition];
  const server = await openGrpcServer({ host: '127.0.0.1', port: 0, definitions, methods });
  const channel = openGrpcChannel(() => `127.0.0.1:${server.port}`, peers);
  return {
    channel,
    close: async () => {
      await channel.close();
      await server.close(1000);
    },
  };
});

const peers = createPeerTokens(Buffer.alloc(32), 'nobody');
const gone = openGrpcChannel(() => '127.0.0.1:1', peers);
afterAll(() => gone.close());

test.each([
  ['local', createLocalChannel(new Map(), peers)],
  ['grpc', gone],
])('%s: a missing peer is unavailable', async (_, channel) => {
  const options = { metadata: { requestId: 'r' }, deadline: Date.now() + 30_000 };
  const asked = channel.client(contracts.index).countResources({ workspaceIds: [], readableIds: [] }, options);
  await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'service_unavailable' });
});

test('grpc: an answer of a busy process reports its utilization', async () => {
  const unary = async () => {
    const until = performance.now() + 50;
    while (performance.now() < until);
    return { counts: [] };
  };
  const served = new Map(
    Object.values(contracts.index.definition).map(({ path, responseStream }) => [
      path,
      { streams: responseStream, unary, stream: () => Promise.reject(new Error('is not called')) as never },
    ]),
  );
  const server = await openGrpcServer({
    host: '127.0.0.1',
    port: 0,
    definitions: [contracts.index.definition],
    methods: served,
  });
  const channel = openGrpcChannel(() => `127.0.0.1:${server.port}`, peers);
  const ask = () =>
    channel
      .client(contracts.index)
      .countResources(
        { workspaceIds: [], readableIds: [] },
        { metadata: { requestId: 'r' }, deadline: Date.now() + 30_000 },
      );
  await ask();
  await ask();
  expect(channel.takeUtilization()).toBeGreaterThan(0.5);
  expect(channel.takeUtilization()).toBe(0);
  await channel.close();
  await server.close(1000);
});
