import { createServer, type IncomingMessage, type RequestListener, request as sendRequest } from 'node:http';
import { duplexPair } from 'node:stream';
import type { AppError } from '@commonplace/kit/errors';

/** A request to the API of this process. */
interface ApiRequest {
  readonly method: string;
  /** Path with its query, such as `/api/v1/me`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  /** Address of the peer that sent the outer request. */
  readonly remoteAddress: string;
  /** Aborts the request, like a client that disconnects. */
  readonly signal: AbortSignal;
  /** What the request takes over from the batch to which it belongs. */
  readonly batched?: BatchedCall;
}

/** What a call within a batch takes over from the batch. No header can claim it, because it belongs to the connection. */
export interface BatchedCall {
  /** Id of the request that brought the batch, for the log. */
  readonly requestId: string;
  /** End of the batch's time, in milliseconds since 1970. */
  readonly deadline: number;
  /** Why the call must not begin; it is answered with this error. */
  readonly refusal: AppError | undefined;
  /** Called once the client of the batch has received the call's answer or has left, or the answer was dropped. */
  readonly held: (() => void)[];
}

/**
 * Sends a request through all of the API's middleware, and resolves when its answer begins. Rejects if it is aborted or
 * its connection breaks.
 */
export type OpenInProcess = (request: ApiRequest) => Promise<IncomingMessage>;

const MAX_HEADER_BYTES = 256 * 1024;

/** The batched calls by the connections that carry them. */
const batchedCalls = new WeakMap<object, BatchedCall>();

/** Returns what a request takes over from its batch; undefined for a request of its own. */
export function batchedCallOf({ socket }: IncomingMessage): BatchedCall | undefined {
  return batchedCalls.get(socket);
}

/**
 * Creates an HTTP client of `listener` in the same process. Requests pass all of HTTP over a connection in memory, so
 * that every gate applies to them and none has a second implementation.
 */
export function createInProcessClient(listener: RequestListener): OpenInProcess {
  // The server never listens; each request hands it a connection. The headers are those of a request that was admitted,
  // and more.
  const options = { requireHostHeader: false, keepAlive: false, maxHeaderSize: MAX_HEADER_BYTES };
  const server = createServer(options, listener);
  server.maxHeadersCount = 0;
  return ({ method, path, headers, body, remoteAddress, signal, batched }) =>
    new Promise((resolve, reject) => {
      const [near, far] = duplexPair();
      Object.assign(far, { remoteAddress });
      if (batched !== undefined) batchedCalls.set(far, batched);
      near.once('close', () => far.destroy());
      server.emit('connection', far);
      const framed = body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
      const sent = sendRequest(
        { method, path, headers: framed, signal, createConnection: () => near as never },
        resolve,
      );
      sent.once('error', reject);
      sent.once('close', () => near.destroy());
      sent.end(body);
    });
}

/** Reads the bytes of an answer. */
export async function readAll(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Reads the bytes of an answer. Returns undefined, and closes its connection, if there are more than `maxBytes`. */
export async function readUpTo(response: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) {
    response.destroy();
    return undefined;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop destroys the response.
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks, bytes);
}
