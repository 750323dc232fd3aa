import { Readable } from 'node:stream';
import { transferablesIn, withBuffers } from '@commonplace/kit/workers';
import { createErrorCodec, type EncodedError } from './errors.js';

/** One end of a message channel between threads. */
export interface Port {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  on(event: 'message', listener: (message: PeerMessage) => void): unknown;
}

type PeerMessage =
  | { readonly call: number; readonly name: string; readonly args: readonly unknown[] }
  | { readonly reply: number; readonly value: unknown }
  | { readonly reply: number; readonly stream: number }
  | { readonly reply: number; readonly error: EncodedError };

/** Calls functions on the other side. */
export interface Peer {
  /** Calls the other side. A stream that it returns arrives as a `Readable`. */
  call<T>(name: string, ...args: readonly unknown[]): Promise<T>;
  /** Rejects all pending calls, and those to come. */
  end(error: Error): void;
}

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Names of the calls that read and close streams. */
const [PULL, STOP] = ['peer.pull', 'peer.stop'];

/** Lets both sides of a message channel call each other. `serve` handles the calls of the other side. */
export function createPeer(port: Port, serve: (name: string, args: readonly unknown[]) => Promise<unknown>): Peer {
  const waiting = new Map<number, PendingCall>();
  const streams = new Map<number, AsyncIterator<unknown>>();
  const errors = createErrorCodec();
  let count = 0;
  let ended: Error | undefined;

  const call: Peer['call'] = (name, ...args) => {
    if (ended !== undefined) return Promise.reject(ended);
    return new Promise((resolve, reject) => {
      waiting.set(++count, { resolve: resolve as PendingCall['resolve'], reject });
      port.postMessage({ call: count, name, args });
    });
  };

  async function* pulled(stream: number): AsyncGenerator<unknown> {
    try {
      for (;;) {
        const chunk = await call<Uint8Array | null>(PULL as string, stream);
        if (chunk === null) return;
        yield chunk;
      }
    } finally {
      if (ended === undefined) void call(STOP as string, stream).catch(() => {});
    }
  }

  async function answer(name: string, args: readonly unknown[]): Promise<unknown> {
    if (name === PULL) {
      const { done, value } = (await streams.get(args[0] as number)?.next()) ?? { done: true, value: undefined };
      return done === true ? null : Buffer.from(value as Uint8Array);
    }
    if (name !== STOP) return serve(name, args);
    const stream = streams.get(args[0] as number);
    streams.delete(args[0] as number);
    await stream?.return?.();
    return undefined;
  }

  async function serveCall(id: number, name: string, args: readonly unknown[]): Promise<void> {
    try {
      const value = await answer(name, withBuffers(args));
      if (value instanceof Readable) {
        streams.set(id, value[Symbol.asyncIterator]());
        port.postMessage({ reply: id, stream: id });
      } else port.postMessage({ reply: id, value }, transferablesIn(value));
    } catch (error) {
      port.postMessage({ reply: id, error: errors.encode(error) });
    }
  }

  function settle(message: Exclude<PeerMessage, { call: number }>): void {
    const one = waiting.get(message.reply);
    waiting.delete(message.reply);
    if ('error' in message) one?.reject(errors.decode(message.error));
    else if ('stream' in message) one?.resolve(Readable.from(pulled(message.stream)));
    else one?.resolve(withBuffers(message.value));
  }

  port.on('message', (message) => {
    if ('call' in message) void serveCall(message.call, message.name, message.args);
    else settle(message);
  });
  return {
    call,
    end(error) {
      ended ??= error;
      for (const { reject } of waiting.values()) reject(ended);
      waiting.clear();
    },
  };
}
