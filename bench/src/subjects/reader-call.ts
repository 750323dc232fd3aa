import { Client, credentials, type MethodDefinition } from '@grpc/grpc-js';

/** A unary call that takes an id and returns the text stored under it. Both are plain bytes. */
export const READ: MethodDefinition<string, string> = {
  path: '/limit.Reader/Read',
  requestStream: false,
  responseStream: false,
  requestSerialize: (text) => Buffer.from(text),
  requestDeserialize: (bytes) => bytes.toString('utf8'),
  responseSerialize: (text) => Buffer.from(text),
  responseDeserialize: (bytes) => bytes.toString('utf8'),
};

const DEADLINE_MS = 10_000;

/** Returns a function that calls the reader at `address`. */
export function openReader(address: string): (id: string) => Promise<string> {
  const client = new Client(address, credentials.createInsecure());
  return (id) =>
    new Promise((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = READ;
      const options = { deadline: Date.now() + DEADLINE_MS };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, id, options, (error, text) =>
        error === null ? resolve(text ?? '') : reject(error),
      );
    });
}
