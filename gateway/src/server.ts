import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecurityHeaders } from '@commonplace/kit/http';
import { listenOn } from '@commonplace/kit/network';
import type Koa from 'koa';
import { inTurn } from './pipelined.js';
import { refuseUnreadable } from './unreadable.js';

export interface HttpServer {
  readonly port: number;
  /** Stops accepting requests, and waits at most `graceMs` milliseconds for requests in progress. */
  close(graceMs: number): Promise<void>;
}

/** Maximum number of bytes of a request line with its headers. A DELETE can name 500 ids in its query. */
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * Milliseconds in which a client has to send its headers. Below, milliseconds for a whole upload; other bodies have
 * their own limit.
 */
const HEADERS_MS = 10_000;
const REQUEST_MS = 3_600_000;
/** Milliseconds between two looks for connections that exceed these limits. */
const LOOK_MS = 1000;
/**
 * Milliseconds for which an idle connection stays open. It is longer than in usual load balancers, so that they close
 * it first.
 */
const KEEP_ALIVE_MS = 75_000;

/**
 * Disables Node.js's own check of the Host header, so that the application refuses such a request with the documented
 * error.
 */
const OPTIONS = {
  keepAliveTimeout: KEEP_ALIVE_MS,
  requestTimeout: REQUEST_MS,
  connectionsCheckingInterval: LOOK_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  requireHostHeader: false,
};

/**
 * Listens on `host:port`; port 0 selects any free port. `headers` are sent with answers to invalid HTTP requests, which
 * never reach the app. `headersMs` is the time in milliseconds in which a client has to send its headers.
 */
export async function openHttpServer(
  app: Koa,
  host: string,
  port: number,
  headers: SecurityHeaders = [],
  headersMs = HEADERS_MS,
): Promise<HttpServer> {
  const server = createServer(OPTIONS, inTurn(app.callback()));
  server.headersTimeout = headersMs;
  // Their bytes are limited. Beyond a number, Node.js would drop headers, and so credentials, without an error.
  server.maxHeadersCount = 0;
  const last = createLastAnswers();
  server.on('clientError', (error, socket) => refuseUnreadable(error, socket, last.of(socket), headers));
  // The application answers unknown expectations, so that they get the documented error.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_, socket) =>
    refuseUnreadable(new Error('CONNECT is for proxies'), socket, last.of(socket), headers),
  );
  server.prependListener('request', (_, response) => last.watch(response));
  await listenOn(server, host, port);
  return { port: (server.address() as AddressInfo).port, close: (graceMs) => closeServer(server, last, graceMs) };
}

interface LastAnswers {
  watch(response: ServerResponse): void;
  /** Returns the latest response of a connection. */
  of(socket: Duplex): ServerResponse | undefined;
  begin(): void;
}

/**
 * Marks answers from `begin` on as the last on their connection. Answers are kept by connection rather than in a set: a
 * set would rebuild its table every few dozen entries, and V8's old tables retain the new ones, with all answers in
 * them, until a major collection.
 */
function createLastAnswers(): LastAnswers {
  const latest = new Map<Duplex, ServerResponse>();
  let begun = false;
  return {
    watch(response) {
      const { socket } = response.req;
      response.shouldKeepAlive &&= !begun;
      if (!latest.has(socket)) socket.once('close', () => latest.delete(socket));
      latest.set(socket, response);
    },
    of: (socket) => latest.get(socket),
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
