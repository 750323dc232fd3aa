import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { MongoClient } from 'mongodb';

/** Servers that tests use; empty if there are none. */
export const mongoUrl = process.env.COMMONPLACE_MONGODB_URL ?? '';
export const natsUrl = process.env.COMMONPLACE_NATS_URL ?? '';

/** Deletes the databases of a test. */
export async function dropDatabases(prefix: string): Promise<void> {
  const client = await MongoClient.connect(mongoUrl);
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true });
  for (const { name } of databases) if (name.startsWith(prefix)) await client.db(name).dropDatabase();
  await client.close();
}

/** Deletes the streams of a test with their content. */
export async function deleteStreams(stream: string): Promise<void> {
  const nc = await connect({ servers: natsUrl.replace(/^nats:\/\//, '') });
  const jsm = await jetstreamManager(nc);
  for (const name of [stream, `${stream}_PARKED`]) await jsm.streams.delete(name);
  await nc.close();
}
