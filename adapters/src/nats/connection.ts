import { ConfigError } from '@commonplace/kit/config';
import { Unavailable } from '@commonplace/kit/errors';
import { createWakeSignal } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { calling } from './errors.js';
import type { Names } from './names.js';
import { ensureStreams, type StreamOptions } from './streams.js';

/** A connection with its JetStream clients. */
export interface Link {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** Creates the streams that are missing. */
  ensureStreams(): Promise<void>;
}

export interface Connection {
  /** Returns the link; rejects with Unavailable if there is none within a few seconds. */
  link(): Promise<Link>;
  /** Whether there has been a connection. */
  readonly isLinked: boolean;
  /** Calls back at the first connection, which has not been made yet. Returns a function that removes the listener. */
  onceLinked(listener: () => void): () => void;
  /**
   * Calls back at each connection after the first, and when streams were created again. Returns a function that removes
   * the listener.
   */
  onReconnect(listener: () => void): () => void;
  /** Signals that acknowledged events may be lost. */
  interrupted(): void;
  close(): Promise<void>;
}

/** Milliseconds that a call waits for the first connection, and for an answer. */
const TIMEOUT_MS = 5000;

interface LinkOptions {
  readonly names: Names;
  readonly replicas: number;
  readonly log: Log;
  /**
   * Rejects with ConfigError if the streams belong to another installation; the connection then does nothing with them.
   */
  readonly verify?: (() => Promise<void>) | undefined;
}

/** Connects, however long it takes, and reconnects whenever the connection is lost. */
export function openConnection(
  url: string,
  { names, replicas, log, verify = async () => {} }: LinkOptions,
): Connection {
  const listeners = new Set<() => void>();
  const waiting = new Set<() => void>();
  let current: Link | undefined;
  let closed = false;
  let refused: ConfigError | undefined;
  const signal = createWakeSignal();
  const interrupted = (): void => {
    for (const listener of listeners) listener();
  };
  const connecting = (async (): Promise<Link | undefined> => {
    for (let pause = 100; !closed; pause = Math.min(pause * 2, 5000)) {
      try {
        await verify();
        const link = await openLink(url, { names, replicas, verify });
        if (!closed) return link;
        await link.nc.close();
      } catch (error) {
        if (error instanceof ConfigError) {
          refused = error;
          log.error('nats.foreign', { error });
          return undefined;
        }
        log.warn('nats.unreachable', { error });
        await signal.sleep(pause);
      }
    }
    return undefined;
  })();
  void connecting.then(async (link) => {
    current = link;
    if (link === undefined) return;
    for (const listener of waiting) listener();
    waiting.clear();
    for await (const status of link.nc.status()) {
      if (status.type === 'disconnect') log.warn('nats.disconnected');
      if (status.type !== 'reconnect') continue;
      log.info('nats.reconnected');
      interrupted();
    }
  });
  return {
    get isLinked() {
      return current !== undefined;
    },
    onceLinked: (listener) => {
      waiting.add(listener);
      return () => waiting.delete(listener);
    },
    link: async () => {
      if (closed) throw Unavailable();
      if (current !== undefined) return current;
      const link = await within(TIMEOUT_MS, connecting);
      if (refused !== undefined) throw refused;
      if (link === undefined) throw Unavailable();
      return link;
    },
    onReconnect: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    interrupted,
    close: async () => {
      closed = true;
      signal.close();
      const link = current ?? (await Promise.race([connecting, undefined]));
      if (link !== undefined && !link.nc.isClosed()) await link.nc.drain().catch(() => {});
    },
  };
}

/** Returns the result of a promise, or undefined after `ms` milliseconds. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function openLink(url: string, streams: StreamOptions): Promise<Link> {
  const nc = await connect({
    ...serversOf(url),
    name: 'commonplace',
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    pingInterval: 10_000,
    timeout: TIMEOUT_MS,
    ignoreAuthErrorAbort: true,
  });
  try {
    return await calling(async () => {
      const js = jetstream(nc, { timeout: TIMEOUT_MS });
      const jsm = await jetstreamManager(nc, { timeout: TIMEOUT_MS });
      const link = { nc, js, jsm, ensureStreams: () => ensureStreams(jsm, streams) };
      await link.ensureStreams();
      return link;
    });
  } catch (error) {
    await nc.close();
    throw error;
  }
}

/** Parses server URLs: `nats://user:password@one:4222,two:4222`. The scheme `tls://` enables encryption. */
export function serversOf(url: string): ConnectionOptions {
  const parts = url.split(',').map((part) => new URL(part.includes('://') ? part : `nats://${part}`));
  const { username, password, protocol } = parts[0] as URL;
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return {
    servers: parts.map((part) => part.host),
    ...(pass === '' ? (user === '' ? {} : { token: user }) : { user, pass }),
    ...(protocol === 'tls:' ? { tls: {} } : {}),
  };
}
