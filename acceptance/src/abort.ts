import { connect, type Socket } from 'node:net';

/** A request that is sent as bytes in pieces: the head, and the body in two halves. */
export interface RawRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** Stages of a request after which the client closes the connection. */
export const STAGES = ['half of the head', 'the head', 'half of the body', 'all of it', 'the first answer'] as const;
type Stage = (typeof STAGES)[number];

/**
 * Delays in milliseconds between the client's last bytes and closing, so that the server has processed some of them.
 */
const WAITS_MS = [0, 5, 40];

/**
 * Sends requests up to a stage and closes their connections, both regularly and with a reset, each after several
 * delays.
 */
export async function abortAt(stage: Stage, request: () => Promise<RawRequest>): Promise<void> {
  for (const waitMs of WAITS_MS) {
    for (const reset of [false, true]) await abortOnce(stage, await request(), waitMs, reset);
  }
}

async function abortOnce(stage: Stage, request: RawRequest, waitMs: number, reset: boolean): Promise<void> {
  const { hostname, port } = new URL(request.url);
  const socket = connect(Number(port), hostname);
  // The server may close the connection first, so errors are ignored.
  socket.on('error', () => {});
  await send(socket, bytesUpTo(stage, request));
  if (stage === 'the first answer') await firstBytes(socket);
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  if (reset) socket.resetAndDestroy();
  else socket.destroy();
}

function send(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });
}

function firstBytes(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('data', () => resolve()).once('close', () => resolve());
  });
}

function bytesUpTo(stage: Stage, { method, url, headers = {}, body = Buffer.alloc(0) }: RawRequest): Buffer {
  const { host, pathname, search } = new URL(url);
  const length = body.length === 0 ? {} : { 'Content-Length': String(body.length) };
  const lines = Object.entries({ Host: host, ...length, ...headers }).map(([name, value]) => `${name}: ${value}`);
  const head = Buffer.from(`${[`${method} ${pathname}${search} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`);
  if (stage === 'half of the head') return head.subarray(0, head.length / 2);
  if (stage === 'the head') return head;
  return Buffer.concat([head, stage === 'half of the body' ? body.subarray(0, body.length / 2) : body]);
}
