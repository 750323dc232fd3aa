import { MongoClient } from 'mongodb';
import { compareEvents, type Logged } from '../event-log.js';
import type { Ledger } from '../writer.js';
import type { Shares } from './shares.js';

/** Reads the records of a mesh directly from the store of its services. */
export interface Records {
  /** Returns the operations of a ledger that do not have exactly one event in the outbox. */
  eventsOf(ledger: Ledger): Promise<string[]>;
  /** Returns the shares that do not have exactly one notification, or whose notification has a count above 1. */
  notificationsOf(shares: Shares): Promise<string[]>;
  close(): Promise<void>;
}

export async function openRecords(url: string): Promise<Records> {
  const client = new MongoClient(url);
  await client.connect();
  const outbox = client.db('commonplace_resources').collection<{ event: string }>('outbox');
  const notifications = client
    .db('commonplace_messaging')
    .collection<{ groupKey: string; count: number }>('notifications');
  return {
    async eventsOf(ledger) {
      const entries = await outbox.find({}, { projection: { event: 1 } }).toArray();
      return compareEvents(
        ledger,
        entries.map(({ event }) => JSON.parse(event) as Logged),
      );
    },
    async notificationsOf({ ids }) {
      const counts = new Map<string, number>();
      for (const { groupKey, count } of await notifications
        .find({}, { projection: { groupKey: 1, count: 1 } })
        .toArray()) {
        counts.set(groupKey, (counts.get(groupKey) ?? 0) + count);
      }
      return ids.flatMap((id) => {
        const count = counts.get(`shared:${id}`) ?? 0;
        return count === 1 ? [] : [`the share of ${id} was notified ${count} times`];
      });
    },
    close: () => client.close(),
  };
}
