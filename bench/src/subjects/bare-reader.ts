// Serves as the limit for a service: a gRPC method that returns a text by its id, without a store.
import { readFileSync } from 'node:fs';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { ReaderFile } from './limit.js';
import { READ } from './reader-call.js';

const { port, ids, answers } = JSON.parse(readFileSync(process.env.LIMIT_FILE ?? '', 'utf8')) as ReaderFile;
const answerOf = new Map(ids.map((id, at) => [id, answers[at] ?? '']));

const server = new Server();
server.addService(
  { read: READ },
  {
    read: (call: { request: string }, done: (error: Error | null, text?: string) => void) =>
      done(null, answerOf.get(call.request) ?? ''),
  },
);
server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
  console.log('ready');
});
