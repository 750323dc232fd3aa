import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { Unavailable } from '../../errors/index.js';
import type { Log } from '../../log/index.js';
import { createBell } from '../bell.js';
import { calling } from './errors.js';
import type { Names } from './names.js';
import { ensureStreams } from './streams.js';

/** A connection and what hangs on it. */
export interface Link {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
}

export interface Connection {
  /** The link, once there is one; rejects with Unavailable after a while. */
  link(): Promise<Link>;
  /** Calls back at each connection after the first, and when streams were made again. Gives what ends that. */
  onReconnect(listener: () => void): () => void;
  /** Tells that what was acknowledged may be lost. */
  interrupted(): void;
  close(): Promise<void>;
}

/** Milliseconds that a call waits for the first connection, and for an answer. */
const PATIENCE = 5000;

/** Connects for as long as it takes, and again whenever the connection is lost. */
export function openConnection(url: string, names: Names, replicas: number, log: Log): Connection {
  const listeners = new Set<() => void>();
  let current: Link | undefined;
  let closed = false;
  const bell = createBell();
  const interrupted = (): void => {
    for (const listener of listeners) listener();
  };
  const connecting = (async (): Promise<Link | undefined> => {
    for (let pause = 100; !closed; pause = Math.min(pause * 2, 5000)) {
      try {
        const link = await openLink(url, names, replicas);
        if (!closed) return link;
        await link.nc.close();
      } catch (error) {
        log.warn('nats.unreachable', { error });
        await bell.sleep(pause);
      }
    }
    return undefined;
  })();
  void connecting.then(async (link) => {
    current = link;
    if (link === undefined) return;
    for await (const status of link.nc.status()) {
      if (status.type === 'disconnect') log.warn('nats.disconnected');
      if (status.type !== 'reconnect') continue;
      log.info('nats.reconnected');
      interrupted();
    }
  });
  return {
    link: async () => {
      if (closed) throw Unavailable();
      if (current !== undefined) return current;
      const link = await within(PATIENCE, connecting);
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
      bell.hush();
      const link = current ?? (await Promise.race([connecting, undefined]));
      if (link !== undefined && !link.nc.isClosed()) await link.nc.drain().catch(() => {});
    },
  };
}

/** What a promise gives, or undefined after so many milliseconds. */
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

async function openLink(url: string, names: Names, replicas: number): Promise<Link> {
  const nc = await connect({
    ...serversOf(url),
    name: 'commonplace',
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    pingInterval: 10_000,
    timeout: PATIENCE,
    ignoreAuthErrorAbort: true,
  });
  try {
    return await calling(async () => {
      const js = jetstream(nc, { timeout: PATIENCE });
      const jsm = await jetstreamManager(nc, { timeout: PATIENCE });
      await ensureStreams(jsm, names, replicas);
      return { nc, js, jsm };
    });
  } catch (error) {
    await nc.close();
    throw error;
  }
}

/** `nats://user:password@one:4222,two:4222`; `tls://` asks for encryption. */
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
