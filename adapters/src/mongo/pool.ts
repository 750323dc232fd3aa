import { gauge } from '@commonplace/kit/telemetry';
import type { MongoClient } from 'mongodb';

const connections = gauge('db.client.connection.count', '{connection}', 'Connections to MongoDB, by their state.');
const waiting = gauge(
  'db.client.connection.pending_requests',
  '{request}',
  'Operations that wait for a connection to MongoDB.',
);
const most = gauge('db.client.connection.max', '{connection}', 'Most connections to each server of MongoDB.');

/** Reports the connections of a client. Returns a function that ends the reports. */
export function observeConnections(client: MongoClient): () => void {
  let [open, used, pending] = [0, 0, 0];
  client.on('connectionCreated', () => open++);
  client.on('connectionClosed', () => open--);
  client.on('connectionCheckOutStarted', () => pending++);
  client.on('connectionCheckOutFailed', () => pending--);
  client.on('connectionCheckedOut', () => {
    pending--;
    used++;
  });
  client.on('connectionCheckedIn', () => used--);
  const about = { 'db.client.connection.pool.name': 'mongodb' };
  const stateOf = (state: string, value: number) => ({
    attributes: { ...about, 'db.client.connection.state': state },
    value,
  });
  const ends = [
    connections.observe(() => [stateOf('used', used), stateOf('idle', Math.max(0, open - used))]),
    waiting.observe(() => [{ attributes: about, value: pending }]),
    most.observe(() => [{ attributes: about, value: client.options.maxPoolSize }]),
  ];
  return () => {
    for (const end of ends) end();
  };
}
