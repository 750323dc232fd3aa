import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { newRequestId } from '@commonplace/kit/id';
import type Koa from 'koa';

export interface HttpServer {
  readonly port: number;
  /** Takes no new requests, waits for those under way at most so long. */
  close(graceMs: number): Promise<void>;
}

/** Milliseconds that a client may take for its headers, and for all of an upload; other bodies have their own time. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 3_600_000;
/** Longer than the idle time of usual load balancers, so that it is they who close. */
const KEEP_ALIVE_MS = 75_000;

/** Listens on `host:port`; 0 takes any free port. */
export async function openHttpServer(app: Koa, host: string, port: number): Promise<HttpServer> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_MS }, app.callback());
  server.headersTimeout = HEADERS_MS;
  server.on('clientError', refuseUnreadable);
  const last = createLastAnswers();
  server.prependListener('request', (_, response) => last.watch(response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: (graceMs) => closeServer(server, last, graceMs) };
}

/** What is no HTTP request, or has headers without end, gets the documented error as well. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = newRequestId();
  const message =
    error.code === 'HPE_HEADER_OVERFLOW' ? 'The headers are too large.' : 'This is not a request that can be read.';
  const body = JSON.stringify({
    error: {
      type: 'invalid_request',
      code: error.code === 'HPE_HEADER_OVERFLOW' ? 'payload_too_large' : 'invalid_value',
      message,
      param: null,
      details: {},
      retryable: false,
      doc_url: null,
    },
    request_id: requestId,
  });
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

interface LastAnswers {
  watch(response: ServerResponse): void;
  begin(): void;
}

/**
 * From `begin` on answers say that their connection ends with them, so that nothing more is sent on it. They are known
 * by their connection: a set of answers makes itself a new table every few dozen of them, and V8's old tables hold on to
 * the new ones and to all answers in these until a major collection.
 */
function createLastAnswers(): LastAnswers {
  const latest = new Map<Socket, ServerResponse>();
  let begun = false;
  return {
    watch(response) {
      const { socket } = response.req;
      response.shouldKeepAlive &&= !begun;
      if (!latest.has(socket)) socket.once('close', () => latest.delete(socket));
      latest.set(socket, response);
    },
    begin() {
      begun = true;
      for (const response of latest.values()) response.shouldKeepAlive = false;
    },
  };
}

function closeServer(server: Server, last: LastAnswers, graceMs: number): Promise<void> {
  last.begin();
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), graceMs);
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(force);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });
}
