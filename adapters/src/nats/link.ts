import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { serversOf } from './connection.js';

/** Milliseconds that the servers have for one answer. */
export const PATIENCE_MS = 5000;

export interface Link {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
}

/** Connects to the servers under a name, without reconnecting later. Creates no stream. */
export async function link(url: string, name: string): Promise<Link> {
  const nc = await connect({
    ...serversOf(url),
    name,
    timeout: PATIENCE_MS,
    reconnect: false,
    maxReconnectAttempts: 0,
  });
  try {
    return {
      nc,
      js: jetstream(nc, { timeout: PATIENCE_MS }),
      jsm: await jetstreamManager(nc, { timeout: PATIENCE_MS }),
    };
  } catch (error) {
    await nc.close();
    throw error;
  }
}
