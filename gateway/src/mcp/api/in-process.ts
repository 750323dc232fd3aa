import { createServer, type IncomingHttpHeaders, type RequestListener, request as sendRequest } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';

/** A request to the API that this process serves. */
export interface ApiRequest {
  readonly method: string;
  /** Path with its query, such as `/api/v1/me`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Address of the peer that the outer request came from. */
  readonly remoteAddress: string;
  /** Aborts the request, as a client does that disconnects. */
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
 * Creates a client of `listener` in the same process. Requests take the whole way of HTTP, over a connection in memory, so
 * that no gate can be missed and none is written twice.
 */
export function createInProcessClient(listener: RequestListener): SendInProcess {
  // The server never listens; it is given connections.
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
