import { createServer, type IncomingHttpHeaders, type RequestListener, request as sendRequest } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';

/** A request to the API of this process. */
export interface ApiRequest {
  readonly method: string;
  /** Path with its query, such as `/api/v1/me`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Address of the peer that sent the outer request. */
  readonly remoteAddress: string;
  /** Aborts the request, like a client that disconnects. */
  readonly signal: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request through all of the API's middleware. Rejects if it is aborted or its connection breaks. */
export type SendInProcess = (request: ApiRequest) => Promise<ApiResponse>;

/**
 * Creates an HTTP client of `listener` in the same process. Requests pass all of HTTP over a connection in memory, so
 * that every gate applies to them and none has a second implementation.
 */
export function createInProcessClient(listener: RequestListener): SendInProcess {
  // The server never listens; each request hands it a connection.
  const server = createServer({ requireHostHeader: false, keepAlive: false }, listener);
  return ({ method, path, headers, body, remoteAddress, signal }) =>
    new Promise((resolve, reject) => {
      const [near, far] = duplexPair();
      Object.assign(far, { remoteAddress });
      near.once('close', () => far.destroy());
      server.emit('connection', far);
      const framed = body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
      const sent = sendRequest(
        { method, path, headers: framed, signal, createConnection: () => near as never },
        (response) => {
          readText(response).then(
            (text) => resolve({ status: response.statusCode ?? 500, headers: response.headers, text }),
            reject,
          );
        },
      );
      sent.once('error', reject);
      sent.once('close', () => near.destroy());
      sent.end(body);
    });
}

async function readText(stream: Pick<Duplex, typeof Symbol.asyncIterator>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
