import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { openWaitingHealth } from '@commonplace/adapters/grpc';
import { AppError, Unavailable } from '@commonplace/kit/errors';
import { silentLog } from '@commonplace/kit/log';
import { credentials, makeGenericClientConstructor, type ServiceDefinition } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { service } from 'grpc-health-check';
import { openWhenThere } from '../src/runtime/waiting.js';

function recordingLog() {
  const lines: [string, unknown][] = [];
  const note = (event: string, fields?: Record<string, unknown>) => void lines.push([event, fields?.server]);
  return { lines, log: { ...silentLog, warn: note, info: note } };
}

test('a start waits for a server that does not answer, and names it once', async () => {
  const { lines, log } = recordingLog();
  let tries = 0;
  let waits = 0;
  const open = async () => {
    tries += 1;
    if (tries < 5) throw Unavailable();
    return 'open';
  };
  const onWaiting = async () => {
    waits += 1;
  };
  expect(await openWhenThere('NATS', open, { log, onWaiting, retryMs: 1 })).toBe('open');
  expect({ tries, waits }).toEqual({ tries: 5, waits: 1 });
  expect(lines).toEqual([
    ['start.waiting', 'NATS'],
    ['start.continued', 'NATS'],
  ]);
});

test('a start without a wait logs nothing and opens no port', async () => {
  const { lines, log } = recordingLog();
  const onWaiting = () => Promise.reject(new Error('it waits'));
  expect(await openWhenThere('NATS', async () => 'open', { log, onWaiting })).toBe('open');
  expect(lines).toEqual([]);
});

test('a start does not wait for a permanent failure', async () => {
  const wrong = new AppError('UNAUTHENTICATED', 'invalid_credentials', 'wrong password');
  await expect(openWhenThere('MongoDB', () => Promise.reject(wrong), { log: silentLog })).rejects.toBe(wrong);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('a waiting process is live and not ready, and frees its port', async () => {
  const port = await freePort();
  const end = await openWaitingHealth(`127.0.0.1:${port}`);
  const Client = makeGenericClientConstructor(service as unknown as ServiceDefinition, 'health');
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const check = (name: string) =>
    new Promise((resolve, reject) =>
      (
        client as never as Record<string, (request: object, done: (e: unknown, r: { status: string }) => void) => void>
      ).check?.({ service: name }, (error, reply) => (error ? reject(error) : resolve(reply.status))),
    );
  expect([await check(''), await check('live')]).toEqual(['NOT_SERVING', 'SERVING']);
  client.close();
  await end();
  await (await openWaitingHealth(`127.0.0.1:${port}`))();
});
