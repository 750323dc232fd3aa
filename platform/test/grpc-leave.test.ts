import { randomBytes } from 'node:crypto';
import { openGrpcChannel, openGrpcServer } from '@commonplace/adapters/grpc';
import { createPeerTokens } from '@commonplace/kit/auth';
import { newRequestId } from '@commonplace/kit/id';
import type { Client, ServedMethod } from '@commonplace/kit/rpc';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import { expect, test } from '@jest/globals';
import { contracts } from '../src/contracts/index.js';

const { definition } = contracts.index;

/** Milliseconds after which a keepalive was due on every connection. */
const KEEPALIVE_MS = 11_000;

test('a server that leaves finishes its calls, and serves clients that know no other', async () => {
  let finish = () => {};
  let begun = () => {};
  const running = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const played: ServedMethod = {
    streams: false,
    async unary(request) {
      if ((request as { ids: string[] }).ids.includes('slow')) {
        begun();
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
      }
      return { entries: [], leftIds: [] };
    },
    // biome-ignore lint/correctness/useYield: no stream is asked for.
    async *stream() {
      throw new Error('nobody streams');
    },
  };
  const methods = new Map(Object.values(definition).map(({ path }) => [path, played]));
  const server = await openGrpcServer({
    host: '127.0.0.1',
    port: 0,
    definitions: [definition],
    methods,
  });
  const channel = openGrpcChannel(() => `ipv4:127.0.0.1:${server.port}`, createPeerTokens(randomBytes(32), 'caller'));
  const client: Client<IndexService> = channel.client(contracts.index);
  const ask = (id: string) =>
    client.getIndexEntries(
      { ids: [id], mostBytes: 0 },
      { metadata: { requestId: newRequestId() }, deadline: Date.now() + 60_000 },
    );
  const slow = ask('slow');
  await running;
  const left = server.leave(60_000);
  expect(await ask('quick')).toEqual({ entries: [], leftIds: [] });
  await left;
  const closed = server.close(60_000);
  await new Promise((resolve) => setTimeout(resolve, KEEPALIVE_MS));
  finish();
  expect(await slow).toEqual({ entries: [], leftIds: [] });
  await closed;
  await channel.close();
});
