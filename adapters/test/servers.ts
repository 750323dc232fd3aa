import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

/** The NATS server for tests; empty if there is none. */
export const natsUrl = process.env.COMMONPLACE_NATS_URL ?? '';

/** Deletes the streams of a test with their content. */
export async function deleteStreams(stream: string): Promise<void> {
  const nc = await connect({ servers: natsUrl.replace(/^nats:\/\//, '') });
  const jsm = await jetstreamManager(nc);
  for (const name of [stream, `${stream}_PARKED`]) await jsm.streams.delete(name);
  await nc.close();
}
