import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum number of requests of one connection that wait for the answers to earlier ones; the connection ends above it. */
const MAX_WAITING = 100;

/**
 * Serves the requests of a connection one after the other. A client can send thousands before it reads an answer
 * (pipelining), and Node.js would begin all of them in one turn of the event loop, in which nobody else is served.
 */
export function inTurn(serve: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    // The rest of a request that was refused because it did not arrive in time.
    if (request.socket.writableEnded) return request.socket.destroy();
    // Node.js assigns a response to its connection once the previous one has been sent.
    if (response.socket !== null) return serve(request, response);
    const { socket } = request;
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > MAX_WAITING) return socket.destroy();
    waiting.set(socket, count);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      setImmediate(serve, request, response);
    });
  };
}
