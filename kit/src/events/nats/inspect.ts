import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { serversOf } from './connection.js';
import { ifThere } from './errors.js';
import { createNames } from './names.js';

/** What an operator asks of NATS servers. */
export interface NatsFacts {
  readonly version: string;
  /** Servers of the cluster that answers, as far as it tells. */
  readonly cluster: string | undefined;
  /** The stream that keeps events; absent before the first start. */
  readonly stream: { readonly messages: number; readonly replicas: number } | undefined;
  readonly consumers: readonly NatsConsumerFacts[];
}

export interface NatsConsumerFacts {
  readonly name: string;
  /** Events that were not given to it, and those given and not done. */
  readonly waiting: number;
}

/** Looks at NATS without changing anything. Rejects with the client's error: it is for operators. */
export async function inspectNats(url: string, timeoutMs: number): Promise<NatsFacts> {
  const nc = await connect({
    ...serversOf(url),
    name: 'commonplace doctor',
    timeout: timeoutMs,
    reconnect: false,
    maxReconnectAttempts: 0,
  });
  try {
    const { stream } = createNames();
    // Rejects where there is no JetStream.
    const jsm = await jetstreamManager(nc, { timeout: timeoutMs });
    const info = await ifThere(jsm.streams.info(stream));
    const consumers: NatsConsumerFacts[] = [];
    if (info !== undefined) {
      for await (const { name, num_pending, num_ack_pending } of jsm.consumers.list(stream)) {
        consumers.push({ name, waiting: num_pending + num_ack_pending });
      }
    }
    return {
      version: nc.info?.version ?? '',
      cluster: nc.info?.cluster,
      stream: info && { messages: info.state.messages, replicas: info.config.num_replicas },
      consumers,
    };
  } finally {
    await nc.close();
  }
}
