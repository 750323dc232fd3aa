import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { serversOf } from './connection.js';
import { ifThere } from './errors.js';
import { createNames } from './names.js';

/** Facts about NATS servers for operators. */
interface NatsFacts {
  readonly version: string;
  /** Name of the cluster that answers, if it reports one. */
  readonly cluster: string | undefined;
  /** The stream that stores events; absent before the first start. */
  readonly stream: { readonly messages: number; readonly replicas: number } | undefined;
  readonly consumers: readonly NatsConsumerFacts[];
}

interface NatsConsumerFacts {
  readonly name: string;
  /** Number of events that were not delivered to it, plus those delivered and not acknowledged. */
  readonly waiting: number;
}

/**
 * Reads facts about NATS servers without changing anything. Rejects with the client's error, because operators see it.
 */
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
    // Rejects if the server has no JetStream.
    const jsm = await jetstreamManager(nc, { timeout: timeoutMs });
    const info = await ifThere(jsm.streams.info(stream));
    const consumers: NatsConsumerFacts[] = [];
    if (info !== undefined) {
      for await (const { name, config, num_pending, num_ack_pending } of jsm.consumers.list(stream)) {
        consumers.push({ name: config.description ?? name, waiting: num_pending + num_ack_pending });
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
