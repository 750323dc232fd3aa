import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum number of requests of one connection that wait for the answers to earlier ones; the connection ends above it. */
const MAX_WAITING = 100;

/** Milliseconds of a turn of the event loop in which first requests of connections are begun. */
const BEGIN_MS = 5;

/**
 * Serves the requests of a connection one after the other. A client can send thousands before it reads an answer
 * (pipelining), and Node.js would begin all of them in one turn of the event loop, in which nobody else is served. The
 * first requests of connections that were opened together are begun in several turns for the same reason.
 */
export function inTurn(serve: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  const begun = new WeakSet<Socket>();
  const begin = inSeveralTurns(serve);
  return (request, response) => {
    const { socket } = request;
    // The rest of a request that was refused because it did not arrive in time.
    if (socket.writableEnded) return socket.destroy();
    // Node.js assigns a response to its connection once the previous one has been sent.
    if (response.socket !== null) {
      if (begun.has(socket)) return serve(request, response);
      begun.add(socket);
      return begin(request, response);
    }
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > MAX_WAITING) return socket.destroy();
    waiting.set(socket, count);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      setImmediate(serve, request, response);
    });
  };
}

/**
 * Begins requests in the order of their arrival. Each turn of the event loop begins as many as its time allows; the
 * others wait for the next turn. The queue stays short, because a server accepts one new connection per turn.
 */
function inSeveralTurns(serve: RequestListener): RequestListener {
  const waiting: [IncomingMessage, ServerResponse][] = [];
  let until = 0;

  function beginTurn(): void {
    until = performance.now() + BEGIN_MS;
    beginNext();
  }

  function beginNext(): void {
    const [request, response] = waiting[0] as [IncomingMessage, ServerResponse];
    try {
      serve(request, response);
    } finally {
      // A request takes its time in microtasks, which have run before a tick that one of them requests.
      queueMicrotask(() => process.nextTick(goOn));
    }
  }

  function goOn(): void {
    waiting.shift();
    if (waiting.length === 0) return;
    if (performance.now() < until) beginNext();
    else setImmediate(beginTurn);
  }

  return (request, response) => {
    waiting.push([request, response]);
    if (waiting.length === 1) setImmediate(beginTurn);
  };
}
