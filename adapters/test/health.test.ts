import { credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { service } from 'grpc-health-check';
import { type GrpcServer, openGrpcServer } from '../src/grpc/server.js';

let server: GrpcServer;
let status: (service: string) => Promise<string>;

beforeAll(async () => {
  server = await openGrpcServer({ host: '127.0.0.1', port: 0, definitions: [], methods: new Map() });
  const Health = makeGenericClientConstructor(service, 'Health');
  const client = new Health(`127.0.0.1:${server.port}`, credentials.createInsecure());
  status = (name) =>
    new Promise((resolve, reject) => {
      client.check?.({ service: name }, (error: Error | null, answer: { status: string }) =>
        error === null ? resolve(answer.status) : reject(error),
      );
    });
});
afterAll(() => server.close(0));

test('readiness is the last reported state, and liveness means that the process answers', async () => {
  const both = () => Promise.all([status(''), status('live')]);
  await expect(both()).resolves.toEqual(['NOT_SERVING', 'SERVING']);
  server.setReady(true);
  await expect(both()).resolves.toEqual(['SERVING', 'SERVING']);
  server.setReady(false);
  await expect(both()).resolves.toEqual(['NOT_SERVING', 'SERVING']);
});
