// Measures the limit of a service here: a gRPC method that reads a record by id, with the product's read concern.
import { readFileSync } from 'node:fs';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { MongoClient } from 'mongodb';
import type { ReaderFile } from './limit.js';
import { READ } from './reader-call.js';

interface Kept {
  readonly _id: string;
  readonly answer: string;
}

const { port, mongodbUrl, ids, answers } = JSON.parse(readFileSync(process.env.LIMIT_FILE ?? '', 'utf8')) as ReaderFile;
const client = await MongoClient.connect(mongodbUrl);
const kept = client.db('commonplace_bench').collection<Kept>('limit', { readConcern: { level: 'majority' } });
await kept.deleteMany({});
await kept.insertMany(ids.map((_id, at) => ({ _id, answer: answers[at] ?? '' })));

const server = new Server();
server.addService(
  { read: READ },
  {
    read: (call: { request: string }, done: (error: Error | null, text?: string) => void) => {
      kept.findOne({ _id: call.request }).then(
        (found) => done(null, found?.answer ?? ''),
        (error: Error) => done(error),
      );
    },
  },
);
server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
  console.log('ready');
});
